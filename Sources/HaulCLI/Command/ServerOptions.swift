import ArgumentParser

/// How servers are asked for manifests and lists.
struct ServerOptions: ParsableArguments {
  @OptionGroup(title: "S3") var s3: S3Options
  @OptionGroup(title: "Credentials") var credentials: CredentialOptions
  @OptionGroup(title: "Network") var requests: RequestOptions
  @OptionGroup(title: "Network") var connections: ConnectionOptions

  /// `haul get` with these options.
  var asGet: GetCommand {
    get throws(UsageError) {
      var get = try GetCommand.with()
      (get.s3, get.credentials, get.requests) = (s3, credentials, requests)
      get.connections = connections
      return get
    }
  }
}
