# shellcheck shell=bash
# Release builds of one product, made once for each state of the sources.
# Sourced, after packages.sh, by the launcher, by Scripts/release and by Scripts/install-haul.

: "${root:?the repository, set by who sources this}"

# Where it is built and with which options; Scripts/install-haul has its own.
release_path=$root/.build release_options=()

# The options, and paths, sizes and times of everything that goes into a build, and the compiler's.
source_fingerprint() {
  printf 'options: %s\n' "${release_options[*]-}" &&
  find -L "$(command -v swift)" -printf '%p %s %T@\n' &&
    (cd "$root" && find Package.swift Sources -printf '%p %s %T@\n' | LC_ALL=C sort)
}

is_current() {
  local product=$1 stamp=$release_path/launcher/$1.stamp
  [ -x "$release_path/release/$product" ] && [ -r "$stamp" ] &&
    [ "$(<"$stamp")" = "$(source_fingerprint)" ]
}

# Reads the build's output: all of it to the log, how far it is to a terminal's one line.
show_progress() {
  local log=$1 what="haul: building $2" line start=$SECONDS
  [ -e "$root/.build/release/$2" ] || what+="; this takes some minutes, once"
  if [ ! -t 2 ]; then
    printf '%s (log: %s)\n' "$what" "$log" >&2
    cat >"$log"
    return
  fi
  printf '%s' "$what" >&2
  while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ $line =~ ^\[([0-9]+/[0-9]+)\] ]] || continue
    printf '\r%s %s, %d s\e[K' "$what" "${BASH_REMATCH[1]}" "$((SECONDS - start))" >&2
  done >"$log"
  printf '\n' >&2
}

build_release() {
  local product=$1 log=$release_path/launcher/build-$1.log fingerprint
  fingerprint=$(source_fingerprint)
  if (
    set -o pipefail
    cd "$root" && swift build -c release --product "$product" \
      --scratch-path "$release_path" "${release_options[@]}" </dev/null 2>&1 9>&- |
      show_progress "$log" "$product"
  ); then
    printf '%s\n' "$fingerprint" >"$release_path/launcher/$product.stamp"
    return 0
  fi
  say "the build failed; the whole output is in $log and ends:"
  grep -E 'error:' "$log" | sort -u | head -n 10 >&2
  tail -n 15 "$log" >&2
  return 1
}

# ensure_release PRODUCT: a release binary of the sources as they are. Of two at the same time one
# builds and the other waits.
ensure_release() {
  local product=$1 directory=$release_path/launcher status=0
  if ! command -v swift >/dev/null; then
    say "swift is not on PATH; Haul is built from source with Swift 6.2 or newer:" \
      "https://www.swift.org/install/linux"
    return 1
  fi
  is_current "$product" && return 0
  if ! mkdir -p "$directory" 2>/dev/null || ! : 2>/dev/null >>"$directory/lock"; then
    say "cannot write to $directory, so $product cannot be built; build where you may write"
    return 1
  fi
  exec 9>>"$directory/lock"
  if ! flock -n 9; then
    say "waiting for another build to end"
    flock 9
  fi
  if ! is_current "$product"; then
    ensure_packages "$directory/packages.log" build && build_release "$product" || status=$?
  fi
  exec 9>&-
  return "$status"
}
