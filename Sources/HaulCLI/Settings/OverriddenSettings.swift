import HaulCore

/// Subjects of lines of the configuration file that options of several commands override.
extension Settings {
  /// What the configuration says about files of this machine.
  static func overridden(by destination: DestinationOptions) -> Set<String> {
    guard PutPlan.isRemote(destination.output) else {
      // A place that the user names is not chosen by a rule of the file.
      let isNamed = destination.output != nil
      let rule: Set = isNamed || destination.directory != nil ? ["rule"] : []
      // A file is named from where the user is, as for curl and wget.
      return isNamed ? rule.union(["keep-paths", "directory"]) : rule
    }
    return [
      "rule", "directory", "if-exists", "durability", "remote-name", "start-over",
      "allow-unverified", "keep-paths",
      "decode", "min-split", "cache",
    ]
  }

  /// A digest that the user names is not looked for, and the other way round.
  static func overridden(by content: ContentOptions) -> Set<String> {
    // What is missing is missing in a list.
    let missing: Set = content.checksumFiles.isEmpty ? ["ignore-missing"] : []
    if content.checksumFrom != nil { return missing.union(["checksum", "checksum-file"]) }
    let isNamed = !content.checksums.isEmpty || !content.checksumFiles.isEmpty
    return isNamed ? missing.union(["checksum-from"]) : missing
  }

  static func overridden(by output: OutputArguments) -> Set<String> {
    var keys: Set<String> = output.quiet == true ? ["verbose", "progress"] : []
    if output.verbose == true || output.progress == .bar || output.progress == .plain {
      keys.insert("quiet")
    }
    return keys
  }

  static func overridden(
    by credentials: CredentialOptions, _ requests: RequestOptions,
    _ connections: ConnectionOptions
  ) -> Set<String> {
    overridden(by: credentials, requests).union(overridden(by: connections))
  }

  static func overridden(by network: ConnectionOptions) -> Set<String> {
    if network.http1 == true { return ["http2"] }
    return network.http2 == true ? ["http1.1"] : []
  }

  static func overridden(
    by credentials: CredentialOptions, _ requests: RequestOptions
  ) -> Set<String> {
    let (authorization, cookie) = ("header authorization", "header cookie")
    var keys = Set(requests.headers.map(subject(ofHeader:)))
    let bearers: Set = ["bearer-file", "bearer-env"]
    if keys.contains(authorization) {
      keys.formUnion(bearers.union(["user", "password-file", "netrc"]))
    }
    if keys.contains(cookie) { keys.formUnion(["cookie", "cookie-file"]) }
    if credentials.bearerFile != nil || credentials.bearerEnv != nil {
      keys.formUnion([authorization, "user", "password-file", "netrc"])
      keys.insert(credentials.bearerFile != nil ? "bearer-env" : "bearer-file")
    }
    if credentials.user != nil { keys.formUnion(bearers.union([authorization, "password-file"])) }
    if credentials.netrc == true { keys.formUnion(bearers.union([authorization])) }
    if !credentials.cookies.isEmpty || !credentials.cookieFiles.isEmpty { keys.insert(cookie) }
    return keys
  }
}
