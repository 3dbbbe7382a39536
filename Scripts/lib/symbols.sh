# shellcheck shell=bash
# The symbol graphs of public modules, from the debug build. Sourced by Scripts/docs and Scripts/api.

: "${root:?the repository, set by who sources this}"

# For compilers: where the modules of the debug build are.
debug_modules() {
  local build=$root/.build/debug map
  modules=(-I "$build/Modules")
  for map in "$root"/.build/checkouts/*/Sources/*/{include/,}module.modulemap "$build"/*.build/module.modulemap; do
    if [ -e "$map" ]; then modules+=(-Xcc "-fmodule-map-file=$map"); fi
  done
}

# symbol_graph MODULE DIRECTORY OPTIONS...: writes its graph there.
symbol_graph() {
  local module=$1 directory=$2
  shift 2
  mkdir -p "$directory"
  swift symbolgraph-extract -module-name "$module" \
    -target "$(swiftc -print-target-info | sed -nE 's/.*"triple": "([^"]+)".*/\1/p')" \
    "${modules[@]}" -minimum-access-level public -skip-synthesized-members -output-dir "$directory" "$@"
}
