/// The text of `haul get -h`: the options that most people use.
enum ShortHelp {
  static let get = """
    Usage: haul get [OPTION...] URL...

    Downloads now. The same command again resumes, or brings the file up to date.

      -o FILE              Write to FILE (one URL); - is standard output.
      -d DIR               Write to DIR, made if missing.
      -i FILE              URLs from a list, one a line; - is standard input.
      -x N                 Connections of one file, at most (default: 8).
      -j N                 Files at once (default: 8, and 4 per host: --max-per-host).
      --limit-rate RATE    Bytes per second of all files together, as 500K or 2M.
      --checksum ALG=HEX   The digest that the file must have: sha-256=...
      --if-exists WHAT     update, skip, rename, overwrite or fail (default: update).
      --user NAME          The user's name; the password is asked for.
      -H 'Name: value'     A header field to send.
      --json               Events as JSON lines on standard output.
      -q                   Print only errors.

    All options: haul get --help, or man haul-get.

    """
}
