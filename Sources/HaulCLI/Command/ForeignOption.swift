/// Options of curl and wget that people type out of habit, and what to write instead.
enum ForeignOption {
  private static let resumes = "haul resumes by itself; leave it out"
  private static let letters: [Character: String] = [
    "c": resumes, "C": resumes,
    "O": "haul takes the name from the address; -o FILE gives another",
    "L": "haul follows redirects; leave it out",
    "k": "write --insecure to leave certificates unchecked",
    "N": "haul brings a file up to date by itself; leave it out",
    "P": "write -d DIR",
    "s": "write -q to print only errors, -x N for connections",
    "I": "write haul probe URL", "t": "write --retries N", "T": "write --idle-timeout DURATION",
    "f": "haul fails for an error of the server; leave it out",
    "S": "haul shows errors with -q too; leave it out",
    "u": "write --user NAME; the password is asked for, or comes from --password-file",
    "A": "write --user-agent TEXT",
    "b": "write --cookie name=value or --cookie-file FILE; for the background, & at the end",
    "r": "haul fetches whole files",
  ]
  private static let words: [String: String] = [
    "continue": resumes, "continue-at": resumes,
    "output-document": "write -o FILE",
    "remote-name-all": "haul takes names from addresses; leave it out",
    "location": "haul follows redirects; leave it out",
    "no-check-certificate": "write --insecure to leave certificates unchecked",
    "timestamping": "haul brings a file up to date by itself; leave it out",
    "directory-prefix": "write -d DIR", "dir": "write -d DIR", "out": "write -o FILE",
    "silent": "write -q to print only errors",
    "max-connection-per-server": "write -x N", "split": "write -x N",
    "max-concurrent-downloads": "write -j N",
    "tries": "write --retries N", "retry": "write --retries N",
    "load-cookies": "write --cookie-file FILE",
    "compressed": "write --decode",
    "head": "write haul probe URL", "spider": "write haul probe URL",
    "no-clobber": "write --if-exists skip", "allow-overwrite": "write --if-exists overwrite",
    "auto-file-renaming": "write --if-exists rename",
    "timeout": "write --connect-timeout and --idle-timeout",
    "max-time": "there is no limit for the whole; write --retry-max-time or --idle-timeout",
    "max-download-limit": "write --limit-rate RATE",
    "max-overall-download-limit": "write --limit-rate RATE",
    "fail": "haul fails for an error of the server; leave it out",
    "show-error": "haul shows errors with -q too; leave it out",
    "referer": "write -H 'Referer: URL'", "http-user": "write --user NAME",
    "recursive": "haul fetches whole files, not sites",
  ]

  /// A hint for the first such word; only asked when parsing failed.
  static func hint(in arguments: [String], own: Set<Character>) -> String? {
    for word in arguments.prefix(while: { $0 != "--" }) where word.hasPrefix("-") {
      if word.hasPrefix("--") {
        let name = String(word.dropFirst(2).prefix { $0 != "=" })
        if let hint = words[name] { return "--\(name): \(hint)" }
      } else if let letter = word.dropFirst().first(where: { !own.contains($0) }),
        word.dropFirst().prefix(while: { $0 != letter }).allSatisfy({
          letters[$0] != nil || "qv".contains($0)
        }),
        let hint = letters[letter]
      {
        return "-\(letter): \(hint)"
      }
    }
    return nil
  }
}
