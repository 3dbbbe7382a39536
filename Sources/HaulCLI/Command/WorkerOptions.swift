import ArgumentParser
import HaulControl
import HaulCore

/// For an engine that runs a command, perhaps again: Slurm, Kubernetes, AWS Batch.
struct WorkerOptions: ParsableArguments {
  @Flag(
    help: """
      For an engine that runs the command again: status 75 says that another run may help, and \
      after SIGTERM nothing else begins, and what runs may end.
      """)
  var worker = false

  @Option(
    help: ArgumentHelp(
      "With --worker: how long that may take; then its bytes are kept (default: 25).",
      valueName: "DURATION"),
    transform: { $0 == "0" ? .zero : try ArgumentValue.duration($0) })
  var drain: Duration?

  @Option(
    help: ArgumentHelp(
      """
      Write what the run does to this file every 5 s and at the end, as the text that Prometheus \
      reads.
      """, valueName: "FILE"),
    completion: .file())
  var metricsFile: String?

  /// - Parameters:
  ///   - manifest: its path; nil without one.
  ///   - lists: which the metrics must not replace, as little as the manifest.
  func apply(
    to output: inout OutputOptions, _ manifest: String? = nil, _ lists: [String] = []
  ) throws(UsageError) {
    guard worker || drain == nil else { throw UsageError("--drain is for --worker") }
    if worker { output.drain = drain ?? .seconds(25) }
    guard metricsFile?.isEmpty != true, metricsFile?.hasByte(0) != true else {
      throw UsageError("--metrics-file: the file's name is empty or has a NUL")
    }
    if let metricsFile {
      let path = FilePath(WorkingDirectory.absolute(metricsFile))
      for other in lists + [manifest].compactMap(\.self)
      where FilePath(WorkingDirectory.absolute(other)) == path {
        throw UsageError("--metrics-file \(metricsFile): that is the manifest, or a list")
      }
    }
    output.metricsFile = metricsFile
    output.hasManifest = manifest != nil
  }
}
