# The static program as a formula of Homebrew on Linux: scripts/release writes VERSION and SHA256 and puts this file into dist/recipes.
# brew install --formula dist/recipes/homebrew/mlsysim.rb      HOMEBREW_MLSYSIM_RELEASE_URL names the release (default: dist/ itself)
class Mlsysim < Formula
  desc "Predicts in closed form what a machine-learning workload does on a machine"
  homepage ENV.fetch("HOMEBREW_MLSYSIM_RELEASE_URL", "file://@DIST@")
  url "#{ENV.fetch("HOMEBREW_MLSYSIM_RELEASE_URL", "file://@DIST@")}/mlsysim-@VERSION@-linux-x86_64.tar.xz"
  version "@VERSION@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on :linux
  depends_on arch: :x86_64

  def install
    bin.install "mlsysim"
  end

  test do
    assert_match "Llama3_8B", shell_output("#{bin}/mlsysim eval Llama3_8B H100")
  end
end
