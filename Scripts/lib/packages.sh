# shellcheck shell=bash
# Which system packages each job needs, how to see that one is missing, how to get it.
# Sourced by the launcher and by Scripts/install. Writes to standard error only.

# job  probe  Debian package. The list for `build` was found in a bare Debian 12 with only the
# Swift toolchain: each line is one that the build, or a tool of the toolchain, failed without.
required_packages() {
  cat <<'LIST'
build  command:git                   git
build  file:/etc/ssl/certs/ca-certificates.crt ca-certificates
build  header:stdlib.h               libc6-dev
build  header:c++/*/vector           g++
build  command:ld.gold               binutils-gold
build  header:zlib.h                 zlib1g-dev
build  library:libbrotlidec.so.1     libbrotli1
build  library:libcurl.so.4          libcurl4
build  library:libncurses.so.6       libncurses6
build  header:sqlite3.h              libsqlite3-dev
build  library:libsqlite3.so.0       libsqlite3-0
build  library:libxml2.so.2          libxml2
python module:json                   python3
server command:nginx                 nginx
api    module:ensurepip               python3-venv
ui     command:chromium               chromium
peers  command:aria2c                aria2
peers  command:axel                  axel
peers  command:curl                  curl
peers  command:wget2                 wget2
perf   command:perf                  linux-perf
shells command:fish                  fish
shells command:zsh                   zsh
tls    command:openssl               openssl
interop command:apache2              apache2
interop command:caddy                caddy
lan    command:caddy                 caddy
lan    command:ip                    iproute2
interop command:lighttpd             lighttpd
interop file:/usr/lib/python3/dist-packages/httpbin/__init__.py python3-httpbin
interop command:microsocks           microsocks
interop command:squid                squid
interop command:tinyproxy            tinyproxy
uploads command:curl                 curl
cluster command:munged               munge
cluster command:slurmctld            slurmctld
cluster command:slurmd               slurmd
cluster command:sbatch               slurm-client
chroot command:debootstrap           debootstrap
lint   command:shellcheck            shellcheck
strace command:strace                strace
cost   command:valgrind              valgrind
LIST
}

# say TEXT...: our own words, on standard error.
say() {
  printf 'haul: %s\n' "$*" >&2
}

# requirement_met PROBE: whether it is installed.
requirement_met() {
  local kind=${1%%:*} name=${1#*:} directory
  case $kind in
    command) PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin command -v "$name" >/dev/null ;;
    file) [ -e "$name" ] ;;
    # python3-minimal has the command and leaves out half of the standard library.
    module) python3 -c "import $name" 2>/dev/null ;;
    header)
      for directory in /usr/include "/usr/include/*" /usr/local/include; do
        compgen -G "$directory/$name" >/dev/null && return 0
      done
      return 1
      ;;
    library)
      for directory in "/usr/lib/*" "/lib/*" /usr/lib64 /usr/lib /usr/local/lib; do
        compgen -G "$directory/$name" >/dev/null && return 0
      done
      return 1
      ;;
  esac
}

# missing_packages JOB...: the missing packages, one per line.
missing_packages() {
  local job probe package
  while read -r job probe package; do
    case " $* " in *" $job "*) requirement_met "$probe" || printf '%s\n' "$package" ;; esac
  done < <(required_packages)
}

# Before apt's own directories: a server is installed for its program, and one that cannot have its port would fail the
# whole installation. A policy-rc.d would hold for the whole system, and stay if this is killed.
no_services=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/no-services
install_path=$no_services:/usr/sbin:/usr/bin:/sbin:/bin

# apt_install PREFIX PACKAGE...: PREFIX is empty or sudo. If it fails, the package lists may be empty
# or old: they are updated, and it is tried once more.
apt_install() {
  local prefix=$1
  shift
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300
    -o "DPkg::Path=$install_path" -y install --no-install-recommends "$@")
  ${prefix:+"$prefix"} "${install[@]}" && return 0
  ${prefix:+"$prefix"} apt-get -o DPkg::Lock::Timeout=300 update &&
    ${prefix:+"$prefix"} "${install[@]}"
}

# ensure_packages LOG JOB...: installs what the jobs need. As root at once; on a terminal after a
# question; else the command is printed and the answer is 1.
ensure_packages() {
  local log=$1 missing answer
  shift
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" -gt 0 ] || return 0

  if ! command -v apt-get >/dev/null; then
    say "cannot find what Debian calls: ${missing[*]}; going on, but if what follows fails," \
      "install them with this system's package manager"
    return 0
  fi
  if [ "$(id -u)" -eq 0 ]; then
    say "installing ${missing[*]}"
    apt_install "" "${missing[@]}" >"$log" 2>&1 </dev/null && return 0
  elif [ -t 2 ] && { : </dev/tty; } 2>/dev/null && command -v sudo >/dev/null; then
    printf 'haul: install %s with sudo apt-get? [Y/n] ' "${missing[*]}" >&2
    read -r answer </dev/tty
    case $answer in
      "" | [Yy]*) apt_install sudo "${missing[@]}" >"$log" 2>&1 </dev/tty && return 0 ;;
      *)
        say "not installed"
        return 1
        ;;
    esac
  else
    say "packages are missing; as root, run: apt-get update && apt-get install -y" \
      "--no-install-recommends ${missing[*]}"
    return 1
  fi
  say "installing failed; the whole output is in $log and ends:"
  tail -n 15 "$log" >&2
  return 1
}
