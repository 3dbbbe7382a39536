import HaulCore

extension GetCommand: ConfiguredCommand {
  var overridden: Set<String> {
    var keys = Settings.overridden(by: credentials, requests, connections)
    if GetPlan.cacheConflict(self) != nil { keys.insert("cache") }
    if cache == true { keys.formUnion(["decode", "min-split"]) }
    keys.formUnion(Settings.overridden(by: destination))
    if destination.output == "-" { keys.formUnion(["directory", "json"]) }
    if destination.output?.isAbsolutePath == true { keys.insert("directory") }
    if output.quiet == true { keys.formUnion(["verbose", "progress"]) }
    if output.verbose == true { keys.insert("quiet") }
    if output.progress == .bar || output.progress == .plain { keys.insert("quiet") }
    return keys
  }
}

extension CacheGetCommand: ConfiguredCommand {
  var overridden: Set<String> {
    var keys = Settings.overridden(by: credentials, requests, connections)
    if output == nil || output == "-" { keys.insert("json") }
    if printed.quiet == true { keys.formUnion(["verbose", "progress"]) }
    if printed.verbose == true { keys.insert("quiet") }
    return keys
  }
}

extension PutCommand: ConfiguredCommand {
  /// What `if-exists` says in the configuration is about files of this machine.
  var overridden: Set<String> {
    Settings.overridden(by: credentials, requests, connections).union(["if-exists"])
  }
}

extension ProbeCommand: ConfiguredCommand {
  var overridden: Set<String> { Settings.overridden(by: credentials, requests, connections) }
}

extension VerifyCommand: ConfiguredCommand {
  /// A digest in the configuration is for another file.
  var overridden: Set<String> { ["checksum"] }
}

extension AddCommand: ConfiguredCommand {
  /// The rate limit of the configuration is that of all transfers together.
  var overridden: Set<String> {
    Settings.overridden(by: credentials, requests)
      .union(Settings.overridden(by: destination)).union(["limit-rate"])
  }
}

extension ServeCommand: ConfiguredCommand {
  var overridden: Set<String> { Settings.overridden(by: network) }
}

extension Settings {
  /// What the configuration says about files of this machine.
  fileprivate static func overridden(by destination: DestinationOptions) -> Set<String> {
    guard PutPlan.isRemote(destination.output) else { return [] }
    return [
      "directory", "if-exists", "durability", "remote-name", "start-over", "allow-unverified",
      "decode", "min-split", "cache",
    ]
  }

  fileprivate static func overridden(
    by credentials: CredentialOptions, _ requests: RequestOptions,
    _ connections: ConnectionOptions
  ) -> Set<String> {
    overridden(by: credentials, requests).union(overridden(by: connections))
  }

  fileprivate static func overridden(by network: ConnectionOptions) -> Set<String> {
    if network.http1 == true { return ["http2"] }
    return network.http2 == true ? ["http1.1"] : []
  }

  fileprivate static func overridden(
    by credentials: CredentialOptions, _ requests: RequestOptions
  ) -> Set<String> {
    let (authorization, cookie) = ("header authorization", "header cookie")
    var keys = Set(requests.headers.map(subject(ofHeader:)))
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
    return keys
  }
}
