import ArgumentParser
package import HaulCore
import HaulKit

struct ProbeCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "probe",
    abstract: "Shows what the server says about a URL, and what 'get' would do; downloads nothing.",
    discussion: """
      Shows length, ranges, validators, name, digest, the address after redirects, the \
      version of HTTP, and the plan: connections, segments, and whether an interrupted \
      download resumes.

      Examples:
        haul probe https://example.org/big.iso
        haul probe -H 'Authorization: Bearer TOKEN' https://example.org/x.bin
        haul probe --json https://example.org/big.iso | jq .length

      Exit status: 0 the server has the file, 1 it does not or is unreachable, 2 wrong usage.
      """)

  @Argument(help: ArgumentHelp("The address to ask about.", valueName: "URL"))
  var url: String

  @OptionGroup(title: "Plan") var reported: ProbeOptions
  @OptionGroup(title: "Plan") var ranges: RangeOptions
  @OptionGroup(title: "Credentials") var credentials: CredentialOptions
  @OptionGroup(title: "Network") var requests: RequestOptions
  @OptionGroup(title: "Network") var connections: ConnectionOptions

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Print one JSON object on standard output.")
  var json: Bool?

  @Flag(
    name: .shortAndLong, inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Print the internal log too, on standard error.")
  var verbose: Bool?

  func overriddenSettings() -> Set<String>? {
    Settings.overridden(by: credentials, requests, connections)
  }

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    let url = try AddressArgument.url(self.url)
    var request = DownloadRequest(url: url, to: .directory("."))
    let headers = try requests.fields(sources)
    request.headers = HeaderFields(headers)
    var authorization = try Authorization(credentials, headers: headers, sources)
    var servers = ServerCredentials(sources)
    try servers.apply(to: &request)
    try authorization.apply(to: &request)
    let cookies = try CookieField(credentials, headers: headers, sources)
    try cookies.apply(to: &request)
    // A probe retries little, unless the user's options say otherwise.
    request.retry.retries = 2
    requests.apply(to: &request)
    reported.apply(to: &request)
    ranges.apply(to: &request)
    var managerOptions = ManagerOptions()
    managerOptions.take(authorization, cookies)
    try connections.apply(to: &managerOptions)
    return ProbePlan(
      request: request, managerOptions: managerOptions, json: json ?? false,
      verbose: verbose ?? false, notes: servers.notes)
  }
}

/// Options of `get` that change what `probe` reports.
struct ProbeOptions: ParsableArguments {
  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Show the name that 'get --remote-name' would give the file.")
  var remoteName: Bool?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Show what 'get --allow-unverified' would do.")
  var allowUnverified: Bool?

  func apply(to request: inout DownloadRequest) {
    request.usesSuggestedName = remoteName ?? false
    request.allowUnverified = allowUnverified ?? false
  }
}

/// What `haul probe` requests.
package struct ProbePlan: CommandPlan, Hashable {
  package var request: DownloadRequest
  package var managerOptions: ManagerOptions
  package var json: Bool
  /// Whether to print the engine's log too.
  package var verbose: Bool
  /// Lines for standard error.
  package var notes: [String] = []

  package func run(in context: ProcessContext) async -> ExitStatus {
    if let refusal = context.limits.refusal { return await OutputStream.fail(refusal) }
    for note in notes { await OutputStream.warn(note) }
    let (log, lines) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingNewest(4096))
    let manager: TransferManager
    do {
      manager = try TransferManager(
        managerOptions.configuration(
          logger: verbose ? StandardErrorLog.logger(to: lines) : nil,
          environment: context.environment))
    } catch {
      return await OutputStream.fail(error.message, with: .usage)
    }
    async let writing: Void = write(log)
    let answer = await ask(manager)
    await manager.shutdown()
    lines.finish()
    await writing
    return await show(answer)
  }

  private func write(_ log: AsyncStream<String>) async {
    for await line in log { await OutputStream.standardError.write(line + "\n") }
  }

  private func ask(_ manager: TransferManager) async -> Result<ProbeResult, TransferError> {
    do {
      return .success(
        try await manager.probe(request) { attempt, error, delay in
          let line = Messages.retry(number: attempt, error, delay: delay, of: request.url)
          await OutputStream.standardError.write(line + "\n")
        })
    } catch {
      return .failure(error)
    }
  }

  private func show(_ answer: Result<ProbeResult, TransferError>) async -> ExitStatus {
    switch answer {
    case .success(let result):
      return await OutputStream.show(json ? ProbeOutput.json(result) : ProbeOutput.table(result))
    case .failure(let error):
      let line = Messages.failure(error, of: request.url)
      await OutputStream.standardError.write(line + "\n")
      if json { _ = await OutputStream.show(ProbeOutput.json(error, of: request.url)) }
      return .failed
    }
  }
}
