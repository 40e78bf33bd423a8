# shellcheck shell=sh
# What the build needs: found, or on Debian 12 installed. Sourced by ./demo and ./check, which then
# call `shardSetup`. It sets nothing but MLIR_DIR, and prints nothing when all is there.
# Off Debian 12 nothing is installed: MLIR_DIR names an LLVM/MLIR 22.1, or the text says what to get.

# What is built with, then what is built against. mlir-22-tools: the exported CMake targets of
# libmlir-22-dev do not load without its files. llvm-22-tools: lit, FileCheck and not, for the tests.
shardSetupPackages='gcc g++ libc6-dev cmake ninja-build pkg-config zlib1g-dev libzstd-dev libjansson-dev'
shardSetupLlvmPackages='libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools'
shardSetupLlvmVersion=22.1

setupSay() { printf 'setup: %s\n' "$*"; }
setupFail() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

# Is this Debian 12 (and not a system derived from it, whose packages differ)?
setupIsDebian12() {
  [ -r /etc/os-release ] || return 1
  # shellcheck source=/dev/null
  (. /etc/os-release && [ "${ID:-}" = debian ] && [ "${VERSION_ID:-}" = 12 ])
}

# Prints those of the packages in "$@" that are not installed.
setupMissing() {
  for setupPackage; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$setupPackage" 2>/dev/null)" = installed ] ||
      printf '%s\n' "$setupPackage"
  done
}

# Runs a command as root: directly, or by sudo.
setupAsRoot() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo -- "$@"
  fi
}
setupCanBeRoot() { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null 2>&1; }

# Runs apt-get quietly, with its output in a log that is shown if it fails.
setupAptGet() {
  setupLog=$(mktemp) || setupFail 'cannot make a temporary file'
  if setupAsRoot env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" >"$setupLog" 2>&1 </dev/null; then
    rm -f "$setupLog"
    return 0
  fi
  tail -n 20 "$setupLog" >&2
  rm -f "$setupLog"
  return 1
}

# setupPlan PACKAGE...: what apt would do, as text; fails if a package is unknown to it.
# `--assume-no` is the only form that prints both sizes; it needs no root without the lock.
setupPlan() {
  LC_ALL=C apt-get install -o Debug::NoLocking=1 --no-install-recommends --assume-no "$@" 2>&1
}

setupDebian() { # setupDebian INSTALL PACKAGE...
  setupInstall=$1
  shift
  setupWanted=$(setupMissing "$@")
  [ -n "$setupWanted" ] || return 0
  # shellcheck disable=SC2086 # a list of words, here and below
  set -- $setupWanted
  setupSay "missing packages: $*"
  if [ "$setupInstall" = 1 ]; then
    setupCanBeRoot ||
      setupFail "not root and no sudo; as root: apt-get update && apt-get install --no-install-recommends $*"
  fi
  # A fresh machine has no package lists, and an old list may lack a package or name a file that is gone.
  setupText=$(setupPlan "$@") && setupPlanned=1 || setupPlanned=0
  case $setupText in *'Unable to locate package'* | *'has no installation candidate'*) ;; *) setupPlanned=1 ;; esac
  if [ "$setupPlanned" = 0 ] && [ "$setupInstall" = 1 ]; then
    setupSay 'reading the package lists (apt-get update)'
    setupAptGet update || setupFail 'apt-get update failed (above); is the network there?'
    setupText=$(setupPlan "$@") || true
  fi
  case $setupText in
  *'Unable to locate package'* | *'has no installation candidate'*)
    setupUnknown=$(printf '%s\n' "$setupText" |
      sed -n -e 's/^E: Unable to locate package \(.*\)/\1/p' -e "s/^E: Package '\(.*\)' has no installation candidate/\1/p" |
      tr '\n' ' ')
    if [ "$setupInstall" = 1 ]; then
      setupFail "apt does not know: ${setupUnknown}(LLVM 22 for Debian 12 comes from bookworm-security: is \"deb http://deb.debian.org/debian-security bookworm-security main\" among the apt sources?)"
    fi
    ;;
  esac
  # "Need to get 306 MB of archives." (or "2,048 B/306 MB" when some lie in the cache) and
  # "After this operation, 2,034 MB of additional disk space will be used."
  setupDownload=$(printf '%s\n' "$setupText" | sed -n 's/^Need to get \(.*\) of archives.*/\1/p')
  setupDisk=$(printf '%s\n' "$setupText" | sed -n 's/^After this operation, \(.*\) of additional disk space.*/\1/p')
  setupCount=$(printf '%s\n' "$setupText" | sed -n 's/.* \([0-9]*\) newly installed.*/\1/p')
  setupSay "with what they need: ${setupCount:-unknown number of} packages, download ${setupDownload:-unknown}, on disk ${setupDisk:-unknown}"
  [ "$setupInstall" = 1 ] ||
    setupFail "not installed (--no-install); as root: apt-get update && apt-get install --no-install-recommends $*"
  setupSay 'installing (apt-get install --no-install-recommends)'
  if ! setupAptGet install --no-install-recommends "$@"; then
    setupSay 'trying once more with fresh package lists'
    setupAptGet update || setupFail 'apt-get update failed (above); is the network there?'
    setupAptGet install --no-install-recommends "$@" || setupFail 'apt-get install failed (above)'
  fi
  setupWanted=$(setupMissing "$@" | tr '\n' ' ')
  [ -z "$setupWanted" ] || setupFail "still missing after the installation: $setupWanted"
}

# Off Debian 12: the same by looking for the programs and files themselves.
setupElsewhere() {
  setupWanted=
  command -v cc >/dev/null 2>&1 || setupWanted="$setupWanted, a C compiler (cc)"
  command -v c++ >/dev/null 2>&1 || setupWanted="$setupWanted, a C++ compiler (c++)"
  command -v cmake >/dev/null 2>&1 || setupWanted="$setupWanted, cmake 3.25 or newer"
  command -v ninja >/dev/null 2>&1 || setupWanted="$setupWanted, ninja"
  if ! command -v pkg-config >/dev/null 2>&1; then
    setupWanted="$setupWanted, pkg-config, jansson and zlib with headers"
  else
    pkg-config --exists jansson || setupWanted="$setupWanted, jansson with headers"
    pkg-config --exists zlib || setupWanted="$setupWanted, zlib with headers"
  fi
  [ -n "${MLIR_DIR:-}" ] || setupWanted="$setupWanted, LLVM and MLIR $shardSetupLlvmVersion (set MLIR_DIR to its lib/cmake/mlir)"
  [ -z "$setupWanted" ] ||
    setupFail "this is not Debian 12, so nothing is installed here; please install${setupWanted#,}"
}

# Any LLVM 22.1.x will do; no other.
setupCheckLlvm() {
  [ -f "$MLIR_DIR/MLIRConfig.cmake" ] || setupFail "MLIR_DIR=$MLIR_DIR has no MLIRConfig.cmake; it must be an installation's lib/cmake/mlir"
  setupVersionFile=$MLIR_DIR/../llvm/LLVMConfigVersion.cmake
  [ -f "$setupVersionFile" ] || setupFail "MLIR_DIR=$MLIR_DIR has no ../llvm/LLVMConfigVersion.cmake beside it"
  setupVersion=$(sed -n 's/^set(PACKAGE_VERSION "\([^"]*\)").*/\1/p' "$setupVersionFile")
  case $setupVersion in
  "$shardSetupLlvmVersion" | "$shardSetupLlvmVersion".*) ;;
  *) setupFail "MLIR_DIR=$MLIR_DIR is LLVM ${setupVersion:-of unknown version}; Shard needs LLVM $shardSetupLlvmVersion.x" ;;
  esac
}

shardSetup() { # shardSetup INSTALL(0|1)
  if [ -n "${MLIR_DIR:-}" ]; then
    setupCheckLlvm # before anything else: a wrong version is not worth a download
    # shellcheck disable=SC2086
    if setupIsDebian12; then setupDebian "$1" $shardSetupPackages; else setupElsewhere; fi
    return 0
  fi
  if setupIsDebian12; then
    # shellcheck disable=SC2086
    setupDebian "$1" $shardSetupPackages $shardSetupLlvmPackages
    MLIR_DIR=/usr/lib/llvm-22/lib/cmake/mlir
  else
    setupElsewhere # names MLIR_DIR
  fi
  setupCheckLlvm
}

# shardBuild SOURCE: configures by the release preset into SOURCE/build and builds. Quiet unless it fails.
shardBuild() {
  (
    cd "$1" || exit 1
    mkdir -p build
    cmake --preset release "-DMLIR_DIR=$MLIR_DIR" >build/configure.log 2>&1 || {
      cat build/configure.log >&2
      setupFail 'cmake failed (above)'
    }
    cmake --build --preset release >build/build.log 2>&1 || {
      tail -n 60 build/build.log >&2
      setupFail 'the build failed (above; all of it in build/build.log)'
    }
  ) || exit 1
}
