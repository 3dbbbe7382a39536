# shellcheck shell=bash
# Release builds of one product, made once for each state of the sources.
# Sourced, after packages.sh, by the launcher, by Scripts/release, by Scripts/install-haul and by Scripts/package.

: "${root:?the repository, set by who sources this}"

# shellcheck source=Scripts/lib/versions.sh
. "$root/Scripts/lib/versions.sh"

release_path=$root/.build
# One build for the launcher, `make install` and `make package`. The Swift runtime is linked in.
# Debug symbols would take a third of the time and half of the size.
release_options=(
  --static-swift-stdlib -debug-info-format none -Xlinker "-L$release_path/launcher/archives"
)

# The first place where the linker looks has these as archives only: they are linked in as well.
link_archives() {
  local directory=$release_path/launcher/archives library
  mkdir -p "$directory" && for library in libsqlite3 libstdc++ libz; do
    ln -sf -- "$(g++ -print-file-name=$library.a)" "$directory/$library.a" || return 1
  done
}

# The options, and paths, sizes and times of everything that goes into a build, and the compiler's.
source_fingerprint() {
  printf 'options: %s\n' "${release_options[*]-}" &&
  find -L "$(command -v swift)" -printf '%p %s %T@\n' &&
    (cd "$root" && find Package.swift Sources Tools -printf '%p %s %T@\n' | LC_ALL=C sort)
}

is_current() {
  local product=$1 stamp=$release_path/launcher/$1.stamp
  [ -x "$release_path/release/$product" ] && [ -r "$stamp" ] &&
    [ "$(<"$stamp")" = "$(source_fingerprint)" ]
}

# The time of a full build, in minutes: 20 minutes of one core.
expected_minutes() {
  local cores minutes
  cores=$(nproc)
  minutes=$(((20 + cores / 2) / cores))
  printf '%d' "$((minutes > 0 ? minutes : 1))"
}

# Reads the build's output: writes it to the log, and the progress to one line of a terminal or, elsewhere, to a line per minute.
show_progress() {
  local log=$1 what="haul: building $2" line start=$SECONDS told=$SECONDS steps=""
  if ! compgen -G "$release_path/launcher/*.stamp" >/dev/null; then
    printf 'haul: %s is built from source now, once: about %s min on %s cores\n' \
      "$2" "$(expected_minutes)" "$(nproc)" >&2
  elif [ ! -t 2 ]; then
    printf '%s (log: %s)\n' "$what" "$log" >&2
  fi
  # The time is updated even if the build prints nothing for a second.
  while IFS= read -r -t 1 line || [ $? -gt 128 ]; do
    [ -z "$line" ] || printf '%s\n' "$line"
    [[ $line =~ ^\[([0-9]+/[0-9]+)\] ]] && steps=" ${BASH_REMATCH[1]},"
    line=
    if [ -t 2 ]; then
      printf '\r%s:%s %d s\e[K' "$what" "$steps" "$((SECONDS - start))" >&2
    elif [ "$((SECONDS - told))" -ge 60 ]; then
      told=$SECONDS
      printf '%s:%s %d min\n' "$what" "$steps" "$(((SECONDS - start) / 60))" >&2
    fi
  done >"$log"
  [ ! -t 2 ] || printf '\n' >&2
}

build_release() {
  local product=$1 log=$release_path/launcher/build-$1.log fingerprint
  fingerprint=$(source_fingerprint)
  link_archives || return 1
  if (
    set -o pipefail
    cd "$root" && swift build -c release --product "$product" \
      --scratch-path "$release_path" "${release_options[@]}" </dev/null 2>&1 9>&- |
      show_progress "$log" "$product"
  ); then
    printf '%s\n' "$fingerprint" >"$release_path/launcher/$product.stamp"
    report_untested
    return 0
  fi
  say "the build failed; the whole output is in $log and ends:"
  grep -E 'error:' "$log" | sort -u | head -n 10 >&2
  tail -n 15 "$log" >&2
  return 1
}

# ensure_release PRODUCT: a release binary of the present sources. Of two at the same time one
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
