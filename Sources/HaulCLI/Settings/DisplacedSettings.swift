extension GetCommand: ConfiguredCommand {
  var displaced: Set<String> {
    var keys = Settings.displaced(by: who, network)
    if place.output == "-" { keys.formUnion(["directory", "json"]) }
    if place.output?.hasPrefix("/") == true { keys.insert("directory") }
    if output.quiet == true { keys.formUnion(["verbose", "progress"]) }
    if output.verbose == true { keys.insert("quiet") }
    if output.progress == .bar || output.progress == .plain { keys.insert("quiet") }
    return keys
  }
}

extension ProbeCommand: ConfiguredCommand {
  var displaced: Set<String> { Settings.displaced(by: who, network) }
}

extension VerifyCommand: ConfiguredCommand {
  /// The digest of one file does not apply to another.
  var displaced: Set<String> { ["checksum"] }
}

extension Settings {
  fileprivate static func displaced(
    by who: CredentialOptions, _ network: NetworkOptions
  ) -> Set<String> {
    let (authorization, cookie) = ("header authorization", "header cookie")
    var keys = Set(network.headers.map(subject(ofHeader:)))
    if keys.contains(authorization) {
      keys.formUnion(["user", "password-file", "bearer-file", "netrc"])
    }
    if keys.contains(cookie) { keys.formUnion(["cookie", "cookie-file"]) }
    if who.bearerFile != nil {
      keys.formUnion([authorization, "user", "password-file", "netrc"])
    }
    if who.user != nil { keys.formUnion([authorization, "bearer-file", "password-file"]) }
    if who.netrc == true { keys.formUnion([authorization, "bearer-file"]) }
    if !who.cookies.isEmpty || !who.cookieFiles.isEmpty { keys.insert(cookie) }
    if network.http1 == true { keys.insert("http2") }
    if network.http2 == true { keys.insert("http1.1") }
    return keys
  }
}
