import ArgumentParser
import HaulCore

/// What of the options of `get` changes what `probe` tells of it.
struct PlanOptions: ParsableArguments {
  @Flag(help: "The name that 'get --remote-name' would give the file.")
  var remoteName = false

  @Flag(help: "What 'get --allow-unverified' would do.")
  var allowUnverified = false

  @OptionGroup var ranges: RangeOptions

  func apply(to request: inout DownloadRequest) {
    request.usesServerName = remoteName
    request.allowUnverified = allowUnverified
    ranges.apply(to: &request)
  }
}
