/// The text of `haul get -h`: the most common options.
enum ShortHelp {
  static let get = """
    Usage: haul get [OPTION...] URL...

    Downloads now. Run the same command again to resume, or to update the file.

      -o FILE              Write to FILE (one URL); - is standard output.
      -d DIR               Write to DIR, created if missing.
      -i FILE              URLs from a list, one per line; - is standard input.
      -x N                 Maximum number of connections per file (default: 8).
      -j N                 Files at once (default: 8, and 4 per host: --max-per-host).
      --limit-rate RATE    Bytes per second of all files together, for example 2M.
      --checksum ALG=HEX   The digest that the file must have: sha-256=...
      --if-exists WHAT     update, skip, rename, overwrite or fail (default: update).
      --user NAME          The user name; haul asks for the password.
      -H 'Name: value'     A header field to send.
      --json               Events as JSON lines on standard output.
      -q                   Print only errors.

    All options: haul get --help, or man haul-get.

    """
}
