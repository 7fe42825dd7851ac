module @m {func.func @f0(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f1(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f1(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f1(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f2(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f2(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f2(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f3(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f3(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f3(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f4(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f4(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f4(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f5(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f5(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f5(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f6(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f6(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f6(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f7(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f7(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f7(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f8(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f8(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f8(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f9(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f9(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f9(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f10(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f10(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f10(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f11(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f11(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f11(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f12(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f12(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f12(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f13(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f13(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f13(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f14(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f14(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f14(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f15(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f15(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f15(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f16(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f16(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f16(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f17(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f17(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f17(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f18(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f18(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f18(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f19(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f19(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f19(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f20(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f20(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f20(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f21(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f21(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f21(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f22(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f22(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f22(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f23(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f23(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f23(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f24(%a) : (tensor<4xf32>) -> tensor<4xf32>
 %1 = func.call @f24(%0) : (tensor<4xf32>) -> tensor<4xf32>
 return %1 : tensor<4xf32> }
func.func @f24(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = stablehlo.add %a, %a : tensor<4xf32>
 return %0 : tensor<4xf32> }
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @f0(%a) : (tensor<4xf32>) -> tensor<4xf32>
 return %0 : tensor<4xf32> } }