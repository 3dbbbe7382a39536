import ArgumentParser
import HaulCore

/// For an engine that runs a command again: Slurm, Kubernetes, AWS Batch.
struct WorkerOptions: ParsableArguments {
  @Flag(
    help: """
      For an engine that runs the command again: status 75 says that another run may help, and \
      after SIGTERM nothing else begins, and what runs may end.
      """)
  var worker = false

  @Option(
    help: ArgumentHelp(
      "With --worker: how long it may, then its bytes are kept (default: 25).",
      valueName: "DURATION"),
    transform: { $0 == "0" ? .zero : try ArgumentValue.duration($0) })
  var drain: Duration?

  func apply(to output: inout OutputOptions) throws(UsageError) {
    guard worker || drain == nil else { throw UsageError("--drain is for --worker") }
    if worker { output.drain = drain ?? .seconds(25) }
  }
}
