import HaulCore

/// Options of curl, wget and aria2, with what to write instead.
enum OtherToolOption {
  /// Letters and long names, without dashes.
  private static let hints = table([
    (["c", "C", "continue", "continue-at"], "haul resumes by itself; leave it out"),
    (["O"], "haul takes the name from the address; -o FILE gives another"),
    (["output-document", "out"], "write -o FILE"),
    (["remote-name-all"], "haul takes names from addresses; leave it out"),
    (["L", "location"], "haul follows redirects; leave it out"),
    (["k", "no-check-certificate"], "write --insecure to leave certificates unchecked"),
    (["N", "timestamping"], "haul brings a file up to date by itself; leave it out"),
    (["P", "directory-prefix", "dir"], "write -d DIR"),
    (["s"], "write -q to print only errors, -x N for connections"),
    (["silent"], "write -q to print only errors"),
    (["I", "head", "spider"], "write haul probe URL"),
    (["t", "tries", "retry"], "write --retries N"),
    (["T"], "write --idle-timeout DURATION"),
    (["timeout"], "write --connect-timeout and --idle-timeout"),
    (
      ["max-time"],
      "there is no limit for the whole transfer; write --retry-max-time or --idle-timeout"
    ),
    (["f", "fail"], "haul always fails when the server answers with an error; leave it out"),
    (["S", "show-error"], "haul shows errors with -q too; leave it out"),
    (["u"], "write --user NAME; haul asks for the password, or reads --password-file"),
    (["http-user"], "write --user NAME"),
    (["A"], "write --user-agent TEXT"),
    (
      ["b"],
      "for cookies, write --cookie or --cookie-file; to run in the background, write haul add"
    ),
    (["load-cookies"], "write --cookie-file FILE"),
    (["r"], "haul fetches whole files"),
    (["recursive"], "haul fetches whole files, not sites"),
    (["max-connection-per-server", "split"], "write -x N"),
    (["max-concurrent-downloads"], "write -j N"),
    (["max-download-limit", "max-overall-download-limit", "rate"], "write --limit-rate RATE"),
    (
      ["max-connections-per-host", "max-connections"],
      "write --max-per-host N for files at once from one host"
    ),
    (
      ["schedule"],
      "it is for the background queue: write haul limits --schedule TIMES, then haul add"
    ),
    (["compressed"], "write --decode"),
    (["g", "globoff"], "write --no-glob"),
    (["no-clobber"], "write --if-exists skip"),
    (["allow-overwrite"], "write --if-exists overwrite"),
    (["auto-file-renaming"], "write --if-exists rename"),
    (["referer"], "write -H 'Referer: URL'"),
    (["n"], "write --netrc"),
    (["proxy-user", "U"], "write the user in the proxy's address, of --proxy or https_proxy"),
  ])

  /// The same for uploads, which have other uses for some letters.
  private static let uploadHints = hints.merging(
    table([
      (["T", "upload-file"], "write the files, then the address: haul put FILE... URL"),
      (["F"], "write --form name=@FILE, and --field name=value"),
      (["X", "request"], "write --method put or --method post"),
      (
        ["delete", "del", "delete-after", "delete-during"],
        "put deletes nothing on a server; leave it out"
      ),
      (["d", "data", "data-binary"], "write --method post, and the file, or - for standard input"),
    ])
  ) { $1 }

  private static func table(_ rows: [([String], String)]) -> [String: String] {
    let pairs = rows.flatMap { names, hint in names.map { ($0, hint) } }
    return Dictionary(pairs, uniquingKeysWith: { $1 })
  }

  /// A hint for the first such option; only used when parsing has failed.
  static func hint(in arguments: [String], own: Set<Character>) -> String? {
    hint(in: arguments, own: own, hints)
  }

  static func hintForUpload(in arguments: [String], own: Set<Character>) -> String? {
    hint(in: arguments, own: own, uploadHints)
  }

  private static func hint(
    in arguments: [String], own: Set<Character>, _ hints: [String: String]
  ) -> String? {
    for word in arguments.prefix(while: { $0 != "--" }) where word.hasBytePrefix("-") {
      if word == "-nc", let hint = hints["no-clobber"] { return "-nc: \(hint)" }
      if word.hasBytePrefix("--") {
        let name = word.dropFirst(2).prefix(beforeAnyOf: "=")
        if let hint = hints[String(name)], name.count > 1 { return "--\(name): \(hint)" }
      } else if let letter = word.dropFirst().first(where: { !own.contains($0) }),
        // Text after a letter that takes a value is the value.
        word.dropFirst().prefix(while: { $0 != letter }).allSatisfy({ "qv".contains($0) }),
        let hint = hints[String(letter)]
      {
        return "-\(letter): \(hint)"
      }
    }
    return nil
  }
}
