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

  @Flag(
    help: """
      Refuse an S3 store that ignores the conditions by which runs of one transfer do not replace \
      each other's object, and each object that could be sent only without one.
      """)
  var workersMayOverlap = false

  @Flag(
    help: """
      Do not find that out; else --worker does it once for each bucket, with a scratch object \
      beside the first one (haul-probe-…), and says so if the store ignores them.
      """)
  var noProbe = false

  @Option(
    help: ArgumentHelp(
      """
      Keep there what another machine needs to continue a large upload: a directory that they \
      share or, with get, s3://bucket/prefix/ (default: a directory of this machine).
      """, valueName: "PLACE"),
    completion: .directory)
  var records: String?

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
    output.recordDirectory = try recordDirectory()
    guard !noProbe || !workersMayOverlap else {
      throw UsageError("--no-probe and --workers-may-overlap contradict each other")
    }
    output.probe = workersMayOverlap ? .refusal : worker && !noProbe ? .warning : .nothing
    output.hasManifest = manifest != nil
  }

  private func recordDirectory() throws(UsageError) -> String? {
    guard let records, !PutPlan.isS3(records) else { return nil }
    guard !records.isEmpty, !records.hasByte(0), !ListServer.has(records) else {
      throw UsageError("--records \(records): that is no directory, and no s3://bucket/prefix/")
    }
    return WorkingDirectory.absolute(records)
  }

  /// The place in a store.
  func recordPlace(
    _ options: S3Options, _ sources: CommandSources
  ) throws(UsageError) -> UploadRequest? {
    guard let records, PutPlan.isS3(records) else { return nil }
    guard records.endsWithSlash else {
      throw UsageError("--records \(records): a place in a store ends with '/'")
    }
    var store = CommandStore(options, sources)
    let place = try store.object("\(records)record")
    var upload = UploadRequest(to: place.object, credentials: place.store.credentials)
    upload.keySource = place.store.keySource
    return upload
  }
}
