package import HaulCore

/// What `haul probe` asks about.
package struct ProbePlan: Hashable, Sendable {
  package var request: TransferRequest
  package var limits: EngineLimits
  package var json: Bool
}

extension ProbePlan {
  /// - Throws: when a value is wrong; nothing was started.
  init(
    _ command: ProbeCommand, reading read: (String) throws(UsageError) -> String
  ) throws(UsageError) {
    let url = try AddressArgument.url(command.url)
    request = TransferRequest(url: url, to: .directory("."))
    var headers: [HeaderArgument.Field] = []
    for text in command.network.headers {
      headers += try HeaderArgument.fields(text, reading: read)
    }
    request.headers = headers
    command.network.apply(to: &request)
    limits = EngineLimits()
    command.network.apply(to: &limits)
    json = command.json
  }
}
