import ArgumentParser
import HaulCore

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
