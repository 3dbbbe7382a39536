package import HaulCore

/// What `haul probe` requests.
package struct ProbePlan: Hashable, Sendable {
  package var request: DownloadRequest
  package var managerOptions: ManagerOptions
  package var json: Bool
  /// Whether to print the engine's log too.
  package var verbose: Bool
}

extension ProbePlan {
  /// - Throws: when a value is wrong; nothing was started.
  init(_ command: ProbeCommand, _ sources: CommandSources) throws(UsageError) {
    let url = try AddressArgument.url(command.url)
    request = DownloadRequest(url: url, to: .directory("."))
    var headers: [HeaderArgument.Field] = []
    for text in command.requests.headers {
      headers += try HeaderArgument.fields(text, sources)
    }
    request.headers = headers
    var authorization = try Authorization(command.credentials, headers: headers, sources)
    try authorization.apply(to: &request)
    let cookies = try CookieField(command.credentials, headers: headers, sources)
    try cookies.apply(to: &request)
    // A probe retries little, unless the user's options say otherwise.
    request.retry.retries = 2
    command.requests.apply(to: &request)
    command.plan.apply(to: &request)
    command.ranges.apply(to: &request)
    managerOptions = ManagerOptions()
    managerOptions.take(authorization, cookies)
    try command.connections.apply(to: &managerOptions)
    json = command.json ?? false
    verbose = command.verbose ?? false
  }
}
