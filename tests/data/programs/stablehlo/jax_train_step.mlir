module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024x256xf32>, %arg1: tensor<1024x256xf32>, %arg2: tensor<256xf32>, %arg3: tensor<256x256xf32>, %arg4: tensor<256x768xf32>, %arg5: tensor<256x1024xf32>, %arg6: tensor<8x128xi32>, %arg7: tensor<8x128xi32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<1024x256xf32> {jax.result_info = "result[1]['down']"}, tensor<1024x256xf32> {jax.result_info = "result[1]['embedding']"}, tensor<256xf32> {jax.result_info = "result[1]['norm']"}, tensor<256x256xf32> {jax.result_info = "result[1]['out']"}, tensor<256x768xf32> {jax.result_info = "result[1]['qkv']"}, tensor<256x1024xf32> {jax.result_info = "result[1]['up']"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x128xi32>
    %1 = stablehlo.compare LT, %arg6, %0, SIGNED : (tensor<8x128xi32>, tensor<8x128xi32>) -> tensor<8x128xi1>
    %c_0 = stablehlo.constant dense<1024> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<8x128xi32>
    %3 = stablehlo.add %arg6, %2 : tensor<8x128xi32>
    %4 = stablehlo.select %1, %3, %arg6 : tensor<8x128xi1>, tensor<8x128xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<8x128xi32>) -> tensor<8x128x1xi32>
    %6 = "stablehlo.gather"(%arg1, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 256>}> : (tensor<1024x256xf32>, tensor<8x128x1xi32>) -> tensor<8x128x256xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<8x128x256xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<8x128x256xf32>, tensor<f32>) -> tensor<8x128xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %cst_1 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<8x128x1xf32>
    %cst_2 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %13 = stablehlo.add %11, %12 : tensor<8x128x1xf32>
    %14 = stablehlo.sqrt %13 : tensor<8x128x1xf32>
    %cst_3 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %16 = stablehlo.divide %15, %14 : tensor<8x128x1xf32>
    %17 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x256xf32>
    %18 = stablehlo.divide %6, %17 : tensor<8x128x256xf32>
    %19 = stablehlo.multiply %14, %14 : tensor<8x128x1xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %21 = stablehlo.divide %20, %19 : tensor<8x128x1xf32>
    %22 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<8x128x256xf32>
    %24 = stablehlo.multiply %18, %23 : tensor<8x128x256xf32>
    %25 = stablehlo.dot_general %24, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x128x256xf32>, tensor<256x768xf32>) -> tensor<8x128x768xf32>
    %26 = stablehlo.slice %25 [0:8, 0:128, 0:256] : (tensor<8x128x768xf32>) -> tensor<8x128x256xf32>
    %27 = stablehlo.slice %25 [0:8, 0:128, 256:512] : (tensor<8x128x768xf32>) -> tensor<8x128x256xf32>
    %28 = stablehlo.slice %25 [0:8, 0:128, 512:768] : (tensor<8x128x768xf32>) -> tensor<8x128x256xf32>
    %29 = stablehlo.reshape %26 : (tensor<8x128x256xf32>) -> tensor<8x128x4x64xf32>
    %30 = stablehlo.transpose %29, dims = [0, 2, 1, 3] : (tensor<8x128x4x64xf32>) -> tensor<8x4x128x64xf32>
    %31 = stablehlo.reshape %27 : (tensor<8x128x256xf32>) -> tensor<8x128x4x64xf32>
    %32 = stablehlo.transpose %31, dims = [0, 2, 1, 3] : (tensor<8x128x4x64xf32>) -> tensor<8x4x128x64xf32>
    %33 = stablehlo.reshape %28 : (tensor<8x128x256xf32>) -> tensor<8x128x4x64xf32>
    %34 = stablehlo.transpose %33, dims = [0, 2, 1, 3] : (tensor<8x128x4x64xf32>) -> tensor<8x4x128x64xf32>
    %35 = stablehlo.transpose %32, dims = [0, 1, 3, 2] : (tensor<8x4x128x64xf32>) -> tensor<8x4x64x128xf32>
    %36 = stablehlo.dot_general %30, %35, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x4x128x64xf32>, tensor<8x4x64x128xf32>) -> tensor<8x4x128x128xf32>
    %cst_5 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x4x128x128xf32>
    %38 = stablehlo.multiply %36, %37 : tensor<8x4x128x128xf32>
    %c_6 = stablehlo.constant dense<true> : tensor<i1>
    %39 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i1>) -> tensor<128x128xi1>
    %40 = call @tril(%39) : (tensor<128x128xi1>) -> tensor<128x128xi1>
    %cst_7 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %41:2 = call @_where(%40, %38, %cst_7) : (tensor<128x128xi1>, tensor<8x4x128x128xf32>, tensor<f32>) -> (tensor<8x4x128x128xf32>, tensor<8x4x128x128xi1>)
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %42 = stablehlo.reduce(%41#0 init: %cst_8) applies stablehlo.maximum across dimensions = [3] : (tensor<8x4x128x128xf32>, tensor<f32>) -> tensor<8x4x128xf32>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8x4x128xf32>
    %44 = stablehlo.maximum %43, %42 : tensor<8x4x128xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2] : (tensor<8x4x128xf32>) -> tensor<8x4x128x1xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1, 2, 3] : (tensor<8x4x128x1xf32>) -> tensor<8x4x128x128xf32>
    %47 = stablehlo.subtract %41#0, %46 : tensor<8x4x128x128xf32>
    %48 = stablehlo.exponential %47 : tensor<8x4x128x128xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %49 = stablehlo.reduce(%48 init: %cst_10) applies stablehlo.add across dimensions = [3] : (tensor<8x4x128x128xf32>, tensor<f32>) -> tensor<8x4x128xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<8x4x128xf32>) -> tensor<8x4x128x1xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2, 3] : (tensor<8x4x128x1xf32>) -> tensor<8x4x128x128xf32>
    %52 = stablehlo.divide %48, %51 : tensor<8x4x128x128xf32>
    %53 = stablehlo.multiply %50, %50 : tensor<8x4x128x1xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<8x4x128x1xf32>
    %55 = stablehlo.divide %54, %53 : tensor<8x4x128x1xf32>
    %56 = stablehlo.dot_general %52, %34, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x4x128x128xf32>, tensor<8x4x128x64xf32>) -> tensor<8x4x128x64xf32>
    %57 = stablehlo.transpose %56, dims = [0, 2, 1, 3] : (tensor<8x4x128x64xf32>) -> tensor<8x128x4x64xf32>
    %58 = stablehlo.reshape %57 : (tensor<8x128x4x64xf32>) -> tensor<8x128x256xf32>
    %59 = stablehlo.dot_general %58, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x128x256xf32>, tensor<256x256xf32>) -> tensor<8x128x256xf32>
    %60 = stablehlo.add %6, %59 : tensor<8x128x256xf32>
    %61 = stablehlo.dot_general %60, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x128x256xf32>, tensor<256x1024xf32>) -> tensor<8x128x1024xf32>
    %62:3 = call @silu(%61) : (tensor<8x128x1024xf32>) -> (tensor<8x128x1024xf32>, tensor<8x128x1024xf32>, tensor<8x128x1024xf32>)
    %63 = stablehlo.dot_general %62#0, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x128x1024xf32>, tensor<1024x256xf32>) -> tensor<8x128x256xf32>
    %64 = stablehlo.add %60, %63 : tensor<8x128x256xf32>
    %65 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %66 = stablehlo.dot_general %64, %65, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x128x256xf32>, tensor<256x1024xf32>) -> tensor<8x128x1024xf32>
    %67:3 = call @log_softmax(%66) : (tensor<8x128x1024xf32>) -> (tensor<8x128x1024xf32>, tensor<8x128x1024xf32>, tensor<8x128x1xf32>)
    %68 = stablehlo.broadcast_in_dim %arg7, dims = [0, 1] : (tensor<8x128xi32>) -> tensor<8x128x1xi32>
    %69:2 = call @take_along_axis(%67#0, %68) : (tensor<8x128x1024xf32>, tensor<8x128x1xi32>) -> (tensor<8x128x1xf32>, tensor<8x128x1x1xi32>)
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %70 = stablehlo.reduce(%69#0 init: %cst_12) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x128x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_13 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %71 = stablehlo.divide %70, %cst_13 : tensor<f32>
    %72 = stablehlo.negate %71 : tensor<f32>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %73 = stablehlo.negate %cst_14 : tensor<f32>
    %cst_15 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %74 = stablehlo.divide %73, %cst_15 : tensor<f32>
    %75 = stablehlo.broadcast_in_dim %74, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %76 = call @take_along_axis_0(%69#1, %75) : (tensor<8x128x1x1xi32>, tensor<8x128x1xf32>) -> tensor<8x128x1024xf32>
    %77 = call @log_softmax_1(%67#1, %67#2, %76) : (tensor<8x128x1024xf32>, tensor<8x128x1xf32>, tensor<8x128x1024xf32>) -> tensor<8x128x1024xf32>
    %78 = stablehlo.dot_general %77, %64, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x1024xf32>, tensor<8x128x256xf32>) -> tensor<1024x256xf32>
    %79 = stablehlo.transpose %78, dims = [1, 0] : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %80 = stablehlo.dot_general %77, %65, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x1024xf32>, tensor<256x1024xf32>) -> tensor<8x128x256xf32>
    %81 = stablehlo.transpose %79, dims = [1, 0] : (tensor<256x1024xf32>) -> tensor<1024x256xf32>
    %82 = stablehlo.dot_general %80, %62#0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x256xf32>, tensor<8x128x1024xf32>) -> tensor<256x1024xf32>
    %83 = stablehlo.transpose %82, dims = [1, 0] : (tensor<256x1024xf32>) -> tensor<1024x256xf32>
    %84 = stablehlo.dot_general %80, %arg0, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x256xf32>, tensor<1024x256xf32>) -> tensor<8x128x1024xf32>
    %85 = call @silu_2(%62#1, %62#2, %61, %84) : (tensor<8x128x1024xf32>, tensor<8x128x1024xf32>, tensor<8x128x1024xf32>, tensor<8x128x1024xf32>) -> tensor<8x128x1024xf32>
    %86 = stablehlo.dot_general %85, %60, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x1024xf32>, tensor<8x128x256xf32>) -> tensor<1024x256xf32>
    %87 = stablehlo.transpose %86, dims = [1, 0] : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %88 = stablehlo.dot_general %85, %arg5, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x1024xf32>, tensor<256x1024xf32>) -> tensor<8x128x256xf32>
    %89 = stablehlo.add %80, %88 : tensor<8x128x256xf32>
    %90 = stablehlo.dot_general %89, %58, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x256xf32>, tensor<8x128x256xf32>) -> tensor<256x256xf32>
    %91 = stablehlo.transpose %90, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %92 = stablehlo.dot_general %89, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x256xf32>, tensor<256x256xf32>) -> tensor<8x128x256xf32>
    %93 = stablehlo.reshape %92 : (tensor<8x128x256xf32>) -> tensor<8x128x4x64xf32>
    %94 = stablehlo.transpose %93, dims = [0, 2, 1, 3] : (tensor<8x128x4x64xf32>) -> tensor<8x4x128x64xf32>
    %95 = stablehlo.dot_general %94, %52, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x4x128x64xf32>, tensor<8x4x128x128xf32>) -> tensor<8x4x64x128xf32>
    %96 = stablehlo.transpose %95, dims = [0, 1, 3, 2] : (tensor<8x4x64x128xf32>) -> tensor<8x4x128x64xf32>
    %97 = stablehlo.dot_general %94, %34, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<8x4x128x64xf32>, tensor<8x4x128x64xf32>) -> tensor<8x4x128x128xf32>
    %98 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2, 3] : (tensor<8x4x128x1xf32>) -> tensor<8x4x128x128xf32>
    %99 = stablehlo.multiply %97, %98 : tensor<8x4x128x128xf32>
    %100 = stablehlo.multiply %99, %48 : tensor<8x4x128x128xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %101 = stablehlo.reduce(%100 init: %cst_16) applies stablehlo.add across dimensions = [3] : (tensor<8x4x128x128xf32>, tensor<f32>) -> tensor<8x4x128xf32>
    %102 = stablehlo.reshape %101 : (tensor<8x4x128xf32>) -> tensor<8x4x128x1xf32>
    %103 = stablehlo.negate %102 : tensor<8x4x128x1xf32>
    %104 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2, 3] : (tensor<8x4x128x1xf32>) -> tensor<8x4x128x128xf32>
    %105 = stablehlo.divide %97, %104 : tensor<8x4x128x128xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %106 = stablehlo.reduce(%103 init: %cst_17) applies stablehlo.add across dimensions = [3] : (tensor<8x4x128x1xf32>, tensor<f32>) -> tensor<8x4x128xf32>
    %107 = stablehlo.broadcast_in_dim %106, dims = [0, 1, 2] : (tensor<8x4x128xf32>) -> tensor<8x4x128x128xf32>
    %108 = stablehlo.add %105, %107 : tensor<8x4x128x128xf32>
    %109 = stablehlo.multiply %108, %48 : tensor<8x4x128x128xf32>
    %110 = call @_where_3(%41#1, %109) : (tensor<8x4x128x128xi1>, tensor<8x4x128x128xf32>) -> tensor<8x4x128x128xf32>
    %cst_18 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %111 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<8x4x128x128xf32>
    %112 = stablehlo.multiply %110, %111 : tensor<8x4x128x128xf32>
    %113 = stablehlo.dot_general %112, %30, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x4x128x128xf32>, tensor<8x4x128x64xf32>) -> tensor<8x4x128x64xf32>
    %114 = stablehlo.transpose %113, dims = [0, 1, 3, 2] : (tensor<8x4x128x64xf32>) -> tensor<8x4x64x128xf32>
    %115 = stablehlo.dot_general %112, %35, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<8x4x128x128xf32>, tensor<8x4x64x128xf32>) -> tensor<8x4x128x64xf32>
    %116 = stablehlo.transpose %114, dims = [0, 1, 3, 2] : (tensor<8x4x64x128xf32>) -> tensor<8x4x128x64xf32>
    %117 = stablehlo.transpose %96, dims = [0, 2, 1, 3] : (tensor<8x4x128x64xf32>) -> tensor<8x128x4x64xf32>
    %118 = stablehlo.reshape %117 : (tensor<8x128x4x64xf32>) -> tensor<8x128x256xf32>
    %119 = stablehlo.transpose %116, dims = [0, 2, 1, 3] : (tensor<8x4x128x64xf32>) -> tensor<8x128x4x64xf32>
    %120 = stablehlo.reshape %119 : (tensor<8x128x4x64xf32>) -> tensor<8x128x256xf32>
    %121 = stablehlo.transpose %115, dims = [0, 2, 1, 3] : (tensor<8x4x128x64xf32>) -> tensor<8x128x4x64xf32>
    %122 = stablehlo.reshape %121 : (tensor<8x128x4x64xf32>) -> tensor<8x128x256xf32>
    %123 = stablehlo.concatenate %122, %120, %118, dim = 2 : (tensor<8x128x256xf32>, tensor<8x128x256xf32>, tensor<8x128x256xf32>) -> tensor<8x128x768xf32>
    %124 = stablehlo.dot_general %123, %24, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<8x128x256xf32>) -> tensor<768x256xf32>
    %125 = stablehlo.transpose %124, dims = [1, 0] : (tensor<768x256xf32>) -> tensor<256x768xf32>
    %126 = stablehlo.dot_general %123, %arg4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<256x768xf32>) -> tensor<8x128x256xf32>
    %127 = stablehlo.multiply %18, %126 : tensor<8x128x256xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %128 = stablehlo.reduce(%127 init: %cst_19) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x128x256xf32>, tensor<f32>) -> tensor<256xf32>
    %129 = stablehlo.reshape %128 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %130 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<8x128x256xf32>
    %131 = stablehlo.multiply %126, %130 : tensor<8x128x256xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %132 = stablehlo.reduce(%129 init: %cst_20) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %133 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x256xf32>
    %134 = stablehlo.multiply %131, %133 : tensor<8x128x256xf32>
    %135 = stablehlo.multiply %134, %6 : tensor<8x128x256xf32>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %136 = stablehlo.reduce(%135 init: %cst_21) applies stablehlo.add across dimensions = [2] : (tensor<8x128x256xf32>, tensor<f32>) -> tensor<8x128xf32>
    %137 = stablehlo.reshape %136 : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %138 = stablehlo.negate %137 : tensor<8x128x1xf32>
    %139 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x256xf32>
    %140 = stablehlo.divide %131, %139 : tensor<8x128x256xf32>
    %141 = stablehlo.add %89, %140 : tensor<8x128x256xf32>
    %142 = stablehlo.multiply %138, %16 : tensor<8x128x1xf32>
    %cst_22 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %143 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %144 = stablehlo.divide %142, %143 : tensor<8x128x1xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %145 = stablehlo.reduce(%144 init: %cst_23) applies stablehlo.add across dimensions = [2] : (tensor<8x128x1xf32>, tensor<f32>) -> tensor<8x128xf32>
    %146 = stablehlo.broadcast_in_dim %145, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x256xf32>
    %147 = stablehlo.multiply %6, %146 : tensor<8x128x256xf32>
    %148 = stablehlo.add %141, %147 : tensor<8x128x256xf32>
    %149 = stablehlo.multiply %146, %6 : tensor<8x128x256xf32>
    %150 = stablehlo.add %148, %149 : tensor<8x128x256xf32>
    %cst_24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %151 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %152 = "stablehlo.scatter"(%151, %5, %150) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
      %172 = stablehlo.add %arg8, %arg9 : tensor<f32>
      stablehlo.return %172 : tensor<f32>
    }) : (tensor<1024x256xf32>, tensor<8x128x1xi32>, tensor<8x128x256xf32>) -> tensor<1024x256xf32>
    %153 = stablehlo.add %81, %152 : tensor<1024x256xf32>
    %cst_25 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %154 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %155 = stablehlo.multiply %154, %83 : tensor<1024x256xf32>
    %156 = stablehlo.subtract %arg0, %155 : tensor<1024x256xf32>
    %cst_26 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %157 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %158 = stablehlo.multiply %157, %153 : tensor<1024x256xf32>
    %159 = stablehlo.subtract %arg1, %158 : tensor<1024x256xf32>
    %cst_27 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %160 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %161 = stablehlo.multiply %160, %132 : tensor<256xf32>
    %162 = stablehlo.subtract %arg2, %161 : tensor<256xf32>
    %cst_28 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %163 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %164 = stablehlo.multiply %163, %91 : tensor<256x256xf32>
    %165 = stablehlo.subtract %arg3, %164 : tensor<256x256xf32>
    %cst_29 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %166 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<256x768xf32>
    %167 = stablehlo.multiply %166, %125 : tensor<256x768xf32>
    %168 = stablehlo.subtract %arg4, %167 : tensor<256x768xf32>
    %cst_30 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %169 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %170 = stablehlo.multiply %169, %87 : tensor<256x1024xf32>
    %171 = stablehlo.subtract %arg5, %170 : tensor<256x1024xf32>
    return %72, %156, %159, %162, %165, %168, %171 : tensor<f32>, tensor<1024x256xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>
  }
  func.func private @tril(%arg0: tensor<128x128xi1>) -> tensor<128x128xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<128x128xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<128x128xi32>
    %2 = stablehlo.add %0, %1 : tensor<128x128xi32>
    %3 = stablehlo.iota dim = 1 : tensor<128x128xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<128x128xi32>, tensor<128x128xi32>) -> tensor<128x128xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<128x128xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<128x128xi1>, tensor<128x128xi1>
    return %6 : tensor<128x128xi1>
  }
  func.func private @_where(%arg0: tensor<128x128xi1>, %arg1: tensor<8x4x128x128xf32>, %arg2: tensor<f32>) -> (tensor<8x4x128x128xf32>, tensor<8x4x128x128xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<128x128xi1>) -> tensor<8x4x128x128xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8x4x128x128xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<8x4x128x128xi1>, tensor<8x4x128x128xf32>
    return %3, %1 : tensor<8x4x128x128xf32>, tensor<8x4x128x128xi1>
  }
  func.func private @silu(%arg0: tensor<8x128x1024xf32>) -> (tensor<8x128x1024xf32>, tensor<8x128x1024xf32>, tensor<8x128x1024xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<8x128x1024xf32>
    %1 = stablehlo.exponential %0 : tensor<8x128x1024xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x128x1024xf32>
    %3 = stablehlo.add %2, %1 : tensor<8x128x1024xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x128x1024xf32>
    %5 = stablehlo.divide %4, %3 : tensor<8x128x1024xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x128x1024xf32>
    %7 = stablehlo.subtract %6, %5 : tensor<8x128x1024xf32>
    %8 = stablehlo.multiply %5, %7 : tensor<8x128x1024xf32>
    %9 = stablehlo.multiply %arg0, %5 : tensor<8x128x1024xf32>
    return %9, %8, %5 : tensor<8x128x1024xf32>, tensor<8x128x1024xf32>, tensor<8x128x1024xf32>
  }
  func.func private @log_softmax(%arg0: tensor<8x128x1024xf32>) -> (tensor<8x128x1024xf32>, tensor<8x128x1024xf32>, tensor<8x128x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<8x128x1024xf32>, tensor<f32>) -> tensor<8x128xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x128xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<8x128xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x1024xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<8x128x1024xf32>
    %6 = stablehlo.exponential %5 : tensor<8x128x1024xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<8x128x1024xf32>, tensor<f32>) -> tensor<8x128xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %9 = stablehlo.log %8 : tensor<8x128x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x1024xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<8x128x1024xf32>
    return %11, %6, %8 : tensor<8x128x1024xf32>, tensor<8x128x1024xf32>, tensor<8x128x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<8x128x1024xf32>, %arg1: tensor<8x128x1xi32>) -> (tensor<8x128x1xf32>, tensor<8x128x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x128x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<8x128x1xi32>, tensor<8x128x1xi32>) -> tensor<8x128x1xi1>
    %c_0 = stablehlo.constant dense<1024> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<8x128x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<8x128x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<8x128x1xi1>, tensor<8x128x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<8x128x1xi32>) -> tensor<8x128x1x1xi32>
    %c_1 = stablehlo.constant dense<1023> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<8x128x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<8x128x1x1xi32>, tensor<8x128x1x1xi32>) -> tensor<8x128x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<8x128x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<8x128x1x1xi32>, tensor<8x128x1x1xi32>) -> tensor<8x128x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<8x128x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<8x128x1x1xi1>, tensor<i1>) -> tensor<8x128x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<8x128x1024xf32>, tensor<8x128x1x1xi32>) -> tensor<8x128x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<8x128x1xi1>, tensor<8x128x1xf32>
    return %15, %5 : tensor<8x128x1xf32>, tensor<8x128x1x1xi32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<8x128x1x1xi32>, %arg1: tensor<8x128x1xf32>) -> tensor<8x128x1024xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x128x1024xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<8x128x1024xf32>, tensor<8x128x1x1xi32>, tensor<8x128x1xf32>) -> tensor<8x128x1024xf32>
    return %1 : tensor<8x128x1024xf32>
  }
  func.func private @log_softmax_1(%arg0: tensor<8x128x1024xf32>, %arg1: tensor<8x128x1xf32>, %arg2: tensor<8x128x1024xf32>) -> tensor<8x128x1024xf32> {
    %0 = stablehlo.negate %arg2 : tensor<8x128x1024xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<8x128x1024xf32>, tensor<f32>) -> tensor<8x128xf32>
    %2 = stablehlo.reshape %1 : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<8x128x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<8x128x1xf32>, tensor<f32>) -> tensor<8x128xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x1024xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<8x128x1024xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<8x128x1024xf32>
    return %7 : tensor<8x128x1024xf32>
  }
  func.func private @silu_2(%arg0: tensor<8x128x1024xf32>, %arg1: tensor<8x128x1024xf32>, %arg2: tensor<8x128x1024xf32>, %arg3: tensor<8x128x1024xf32>) -> tensor<8x128x1024xf32> {
    %0 = stablehlo.multiply %arg2, %arg3 : tensor<8x128x1024xf32>
    %1 = stablehlo.multiply %arg3, %arg1 : tensor<8x128x1024xf32>
    %2 = stablehlo.multiply %0, %arg0 : tensor<8x128x1024xf32>
    %3 = stablehlo.add %1, %2 : tensor<8x128x1024xf32>
    return %3 : tensor<8x128x1024xf32>
  }
  func.func private @_where_3(%arg0: tensor<8x4x128x128xi1>, %arg1: tensor<8x4x128x128xf32>) -> tensor<8x4x128x128xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x4x128x128xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<8x4x128x128xi1>, tensor<8x4x128x128xf32>
    return %1 : tensor<8x4x128x128xf32>
  }
}
