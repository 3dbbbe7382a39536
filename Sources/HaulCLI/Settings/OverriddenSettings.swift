extension GetCommand: ConfiguredCommand {
  var overridden: Set<String> {
    var keys = Settings.overridden(by: credentials, network)
    if destination.output == "-" { keys.formUnion(["directory", "json"]) }
    if destination.output?.hasPrefix("/") == true { keys.insert("directory") }
    if output.quiet == true { keys.formUnion(["verbose", "progress"]) }
    if output.verbose == true { keys.insert("quiet") }
    if output.progress == .bar || output.progress == .plain { keys.insert("quiet") }
    return keys
  }
}

extension ProbeCommand: ConfiguredCommand {
  var overridden: Set<String> { Settings.overridden(by: credentials, network) }
}

extension VerifyCommand: ConfiguredCommand {
  /// A digest in the configuration is for another file.
  var overridden: Set<String> { ["checksum"] }
}

extension Settings {
  fileprivate static func overridden(
    by credentials: CredentialOptions, _ network: NetworkOptions
  ) -> Set<String> {
    let (authorization, cookie) = ("header authorization", "header cookie")
    var keys = Set(network.headers.map(subject(ofHeader:)))
    if keys.contains(authorization) {
      keys.formUnion(["user", "password-file", "bearer-file", "netrc"])
    }
    if keys.contains(cookie) { keys.formUnion(["cookie", "cookie-file"]) }
    if credentials.bearerFile != nil {
      keys.formUnion([authorization, "user", "password-file", "netrc"])
    }
    if credentials.user != nil { keys.formUnion([authorization, "bearer-file", "password-file"]) }
    if credentials.netrc == true { keys.formUnion([authorization, "bearer-file"]) }
    if !credentials.cookies.isEmpty || !credentials.cookieFiles.isEmpty { keys.insert(cookie) }
    if network.http1 == true { keys.insert("http2") }
    if network.http2 == true { keys.insert("http1.1") }
    return keys
  }
}
