# The static program as a derivation of Nix: scripts/release writes VERSION and SHA256 and puts this file into dist/recipes.
# nix-build dist/recipes/nix        --argstr release URL names the release (default: dist/ itself)
{ pkgs ? import <nixpkgs> { }, release ? "file://@DIST@" }:

pkgs.stdenvNoCC.mkDerivation rec {
  pname = "mlsysim";
  version = "@VERSION@";
  src = pkgs.fetchurl {
    url = "${release}/mlsysim-${version}-linux-x86_64.tar.xz";
    sha256 = "@SHA256@";
  };
  dontStrip = true;
  installPhase = ''
    install -D -m 755 mlsysim $out/bin/mlsysim
    install -D -m 644 -t $out/share/doc/mlsysim LICENSE THIRD-PARTY-NOTICES
  '';
  doInstallCheck = true;
  installCheckPhase = ''
    HOME=$TMPDIR $out/bin/mlsysim eval Llama3_8B H100
  '';
  meta = {
    description = "Predicts in closed form what a machine-learning workload does on a machine or a fleet";
    license = pkgs.lib.licenses.asl20;
    mainProgram = "mlsysim";
    platforms = [ "x86_64-linux" ];
  };
}
