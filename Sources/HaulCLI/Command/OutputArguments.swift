import ArgumentParser
import HaulCore

extension OutputOptions.ProgressMode: ExpressibleByArgument {}

/// What to print.
struct OutputArguments: ParsableArguments {
  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Events as JSON, one object per line, on standard output.")
  var json: Bool?

  @Flag(
    name: .shortAndLong, inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Print only errors.")
  var quiet: Bool?

  @Option(help: "How progress is shown on standard error.")
  var progress = OutputOptions.ProgressMode.auto

  @Flag(
    name: .shortAndLong, inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Print the internal log too.")
  var verbose: Bool?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Begin lines on standard error with the time (default: if it is a file).")
  var timeStamps: Bool?

  var values: OutputOptions {
    var values = OutputOptions()
    values.json = json ?? false
    values.quiet = quiet ?? false
    values.verbose = verbose ?? false
    values.progress = progress
    values.timeStamps = timeStamps
    return values
  }

  /// - Throws: when options contradict each other.
  func check() throws(UsageError) {
    guard quiet == true else { return }
    if verbose == true { throw UsageError("-q and -v contradict each other") }
    if progress == .bar || progress == .plain {
      throw UsageError("-q and --progress \(progress.rawValue) contradict each other")
    }
  }
}
