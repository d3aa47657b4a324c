# The flake, evaluated over packages that are stand-ins: what it asks of Nixpkgs, and what it says. Nothing is built.
let
  lib = {
    genAttrs = names: make: builtins.listToAttrs (map (name: { inherit name; value = make name; }) names);
    mkEnableOption = description: { inherit description; default = false; };
    mkOption = option: option;
    mkIf = condition: content: if condition then content else { };
    types.package = "package";
    licenses = { mit = "MIT"; asl20 = "Apache-2.0"; };
  };
  pkgs = {
    inherit lib;
    rustPlatform.buildRustPackage = package: package;
    cmake = "cmake";
    installShellFiles = "installShellFiles";
    formats.toml = { }: { type = "toml"; generate = name: settings: { inherit name settings; }; };
  };
  flake = (import ./flake.nix).outputs {
    self = { };
    nixpkgs = { inherit lib; legacyPackages = lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (system: pkgs); };
  };
  package = flake.packages.x86_64-linux.default;
  module = flake.nixosModules.default {
    inherit lib pkgs;
    config.services.salver = { enable = true; package = "/nix/salver"; settings = { root = "/srv/site"; }; };
  };
  service = module.config.systemd.services.salver;
in
{
  inherit (package) pname version;
  systems = builtins.attrNames flake.packages;
  lock = builtins.pathExists package.cargoLock.lockFile;
  source = builtins.pathExists (package.src + "/crates/salver/Cargo.toml");
  settings = module.config.environment.etc."salver/salver.toml".source.settings;
  start = service.serviceConfig.ExecStart;
  options = builtins.attrNames module.options.services.salver;
}
