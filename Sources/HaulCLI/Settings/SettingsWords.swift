import ArgumentParser

extension SettingsFile {
  /// Checks every key and value as if each stood alone on a command line of `haul get`.
  func check() throws(UsageError) {
    for entry in entries {
      if let reason = entry.problem { throw UsageError("\(path): \(entry.key): \(reason)") }
    }
  }

  /// The words to put before the user's own, without what those displace.
  /// - Parameter arguments: the user's own, of which `own` was made.
  func words(before own: GetCommand, _ arguments: [String], home: String?) -> [String] {
    let displaced = Self.displaced(by: own, arguments)
    var names = Set(own.network.headers.map(Self.headerName))
    let who = own.who
    if who.user != nil || who.bearerFile != nil || who.netrc == true {
      names.insert("authorization")
    }
    if !who.cookies.isEmpty || !who.cookieFiles.isEmpty { names.insert("cookie") }
    return entries.filter { !displaced.contains($0.key) }
      .flatMap { $0.words(home: home) { !names.contains(Self.headerName($0)) } }
  }

  /// Keys that would contradict what the user wrote, who wins. (An option that both have needs
  /// no line here: the last one counts.)
  private static func displaced(by own: GetCommand, _ arguments: [String]) -> Set<String> {
    var keys: Set<String> = []
    if arguments.contains("--http1.1") { keys.insert("http2") }
    if arguments.contains("--http2") { keys.insert("http1.1") }
    if own.place.output == "-" { keys.formUnion(["directory", "json"]) }
    if own.output.values.quiet { keys.formUnion(["verbose", "progress"]) }
    if own.output.values.verbose { keys.insert("quiet") }
    if own.output.progress == .bar || own.output.progress == .plain { keys.insert("quiet") }
    if own.place.output?.hasPrefix("/") == true { keys.insert("directory") }
    if own.who.bearerFile != nil { keys.formUnion(["user", "password-file", "netrc"]) }
    if own.who.user != nil { keys.formUnion(["bearer-file", "password-file"]) }
    if own.who.netrc == true { keys.formUnion(["bearer-file"]) }
    let headers = own.network.headers.map(headerName)
    if headers.contains("authorization") {
      keys.formUnion(["user", "password-file", "bearer-file", "netrc"])
    }
    if headers.contains("cookie") { keys.formUnion(["cookie", "cookie-file"]) }
    return keys
  }

  private static func headerName(_ text: String) -> String {
    text.prefix { $0 != ":" }.lowercased()
  }
}

extension SettingsFile.Entry {
  /// As words of a command line; a flag that is off is none.
  package func words(home: String?, including isWanted: (String) -> Bool = { _ in true })
    -> [String]
  {
    switch value {
    case .truth(let isOn): isOn ? ["--\(key)"] : []
    case .text(let text): isHeader && !isWanted(text) ? [] : [word(text, home)]
    case .texts(let texts):
      texts.filter { !isHeader || isWanted($0) }.map { word($0, home) }
    }
  }

  private var isHeader: Bool { key == "header" }

  private func word(_ text: String, _ home: String?) -> String {
    guard Self.pathKeys.contains(key), text.hasPrefix("~/"), let home else {
      return "--\(key)=\(text)"
    }
    return "--\(key)=\(home)\(text.dropFirst())"  // no shell does it here
  }

  /// Why the key or its value is wrong; nil when they are not.
  var problem: String? {
    let isName = key.utf8.allSatisfy { byte in
      (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
        || byte == UInt8(ascii: ".")
    }
    guard isName, key.utf8.first != UInt8(ascii: "-"), !Self.actions.contains(key), key != "" else {
      return "there is no such option"
    }
    if NotYetSupported.option(in: ["--\(key)"]) != nil { return "not yet supported" }
    if key.hasPrefix("no-") {
      return "there is no such option; write false for what it switches off"
    }
    if case .texts = value, !Self.repeatableKeys.contains(key) {
      return "only one value is allowed"
    }
    // A flag is checked as if it were on.
    let words = if case .truth = value { ["--\(key)"] } else { words(home: nil) }
    do {
      _ = try GetCommand.parse(words)
      return nil
    } catch {
      return GetCommand.message(for: error).split(separator: "\n").joined(separator: " ")
    }
  }

  /// Long options that ask for text and start nothing.
  private static let actions: Set = [
    "help", "help-hidden", "version", "generate-completion-script", "experimental-dump-help",
  ]

  private static let repeatableKeys: Set = [
    "header", "checksum", "cookie", "cookie-file", "input-file", "resolve", "trust-redirects",
  ]

  private static let pathKeys: Set = [
    "output", "directory", "input-file", "password-file", "bearer-file", "cookie-file", "cacert",
    "cert", "key",
  ]
}
