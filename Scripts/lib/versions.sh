# shellcheck shell=bash
# Compares the packages that a build has taken with those that were tested. Sourced, after packages.sh, by whatever builds.

: "${root:?the repository, set by who sources this}"

# Package.swift then takes the tested versions of the packages that it names.
export HAUL_TESTED=1

# taken_versions: those of the last build: name, version, revision.
taken_versions() {
  awk -F '"' '$2 == "identity" { name = $4 } $2 == "revision" { revision = $4 }
    $2 == "version" && NF > 4 { print name, $4, revision }' "$root/.build/workspace-state.json" | LC_ALL=C sort
}

# report_untested: one line if a package is not in the table of those that were tested.
report_untested() {
  local untested
  untested=$(taken_versions | LC_ALL=C comm -23 - <(LC_ALL=C sort "$root/Scripts/lib/tested-versions") |
    awk '{ printf "%s%s %s", separator, $1, $2; separator = ", " }') || return 0
  [ -z "$untested" ] || say "warning: built with what was not tested with haul: $untested (docs/decisions/022-dependency-versions.md)"
}
