# Salver for Nix, built from this repository:
#   nix run ./packaging/nix -- dist          in a clone
#   nix profile install ./packaging/nix
#
# The module has one service: { services.salver = { enable = true; settings = { root = "/srv/site"; }; }; }
{
  description = "Serves static files: fast, fresh and correct";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      forEach = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      workspace = (builtins.fromTOML (builtins.readFile ../../Cargo.toml)).workspace;
      salver = pkgs: pkgs.rustPlatform.buildRustPackage {
        pname = "salver";
        version = workspace.package.version;
        src = ../..;
        cargoLock.lockFile = ../../Cargo.lock;
        cargoBuildFlags = [ "-p" "salver" ];
        # The tests need root, other servers and an hour: CI has run them. The program is tried below.
        doCheck = false;
        nativeBuildInputs = [ pkgs.cmake pkgs.installShellFiles ];
        # cmake is for a dependency's build script, not for the package.
        dontUseCmakeConfigure = true;
        postInstall = ''
          $out/bin/salver man > salver.1
          installManPage salver.1
          for shell in bash zsh fish; do
            $out/bin/salver completions $shell > salver.$shell
          done
          installShellCompletion salver.bash salver.fish --zsh salver.zsh
        '';
        doInstallCheck = true;
        installCheckPhase = ''
          $out/bin/salver --version
          $out/bin/salver check example
        '';
        meta = {
          description = "Serves static files: fast, fresh and correct";
          license = with pkgs.lib.licenses; [ mit asl20 ];
          mainProgram = "salver";
          platforms = systems;
        };
      };
    in
    {
      packages = forEach (pkgs: { default = salver pkgs; });

      nixosModules.default = { config, lib, pkgs, ... }:
        let
          own = config.services.salver;
          format = pkgs.formats.toml { };
          file = format.generate "salver.toml" own.settings;
        in
        {
          options.services.salver = {
            enable = lib.mkEnableOption "Salver, a server of static files";
            package = lib.mkOption { type = lib.types.package; default = salver pkgs; };
            settings = lib.mkOption {
              type = format.type;
              default = { };
              description = "What salver.toml says: docs/settings.md lists the keys.";
            };
          };
          config = lib.mkIf own.enable {
            environment.etc."salver/salver.toml".source = file;
            systemd.services.salver = {
              description = "Salver, a server of static files";
              wantedBy = [ "multi-user.target" ];
              after = [ "network-online.target" ];
              wants = [ "network-online.target" ];
              reloadTriggers = [ file ];
              environment.SALVER_PID_FILE = "/run/salver/salver.pid";
              serviceConfig = {
                Type = "notify";
                NotifyAccess = "main";
                ExecStart = "${own.package}/bin/salver serve -c /etc/salver/salver.toml";
                ExecReload = "${own.package}/bin/salver reload --pid-file /run/salver/salver.pid";
                DynamicUser = true;
                AmbientCapabilities = "CAP_NET_BIND_SERVICE";
                CapabilityBoundingSet = "CAP_NET_BIND_SERVICE";
                LogsDirectory = "salver";
                RuntimeDirectory = "salver";
                WatchdogSec = "30s";
                Restart = "on-failure";
                LimitNOFILE = 65536;
                ProtectSystem = "strict";
                ProtectHome = "read-only";
                PrivateDevices = true;
                NoNewPrivileges = true;
                RestrictAddressFamilies = [ "AF_INET" "AF_INET6" "AF_UNIX" ];
              };
            };
          };
        };
    };
}
