import ArgumentParser
import HaulCore

/// `haul put`; `PutPlan` interprets its options.
struct PutCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "put",
    abstract: "Uploads now, in the foreground.",
    discussion: """
      If URL ends with '/', each file keeps its name there, and so does a directory with all that \
      is in it; DIR/ sends only what is in it. A file of 8 MiB or more resumes if the server \
      offers that (IETF resumable uploads); any other upload with PUT that fails is retried from \
      its beginning. With --method post the file is sent once, because the server may have taken \
      it. 'tus+' before the scheme uploads by the tus protocol: after an interruption or a crash, \
      the same command continues with the bytes that the server has. \
      's3://bucket/key' is an object of an S3 store; a file of more than 16 MiB is sent in parts, \
      and the same command continues with those that are missing. Its access key comes from the \
      environment, the files of the AWS tools, or the role of the container or machine, as there. \
      'dav+' uploads by WebDAV: missing directories are made, and a file gets its name once the \
      server has it whole. '-' is standard input, alone and with the whole address: it is read \
      only once, so an upload that ends in its middle does not continue in another run.

      Examples:
        haul put report.pdf https://example.org/files/report.pdf
        haul put a.jpg b.jpg https://example.org/photos/
        haul put photos https://example.org/backup/
        haul put --if-exists fail report.pdf https://example.org/files/
        haul put --if-exists update site s3://bucket/
        haul put movie.mkv tus+https://example.org/uploads/
        haul put movie.mkv s3://bucket/movies/
        haul put movie.mkv dav+https://example.org/dav/films/
        tar cf - photos | haul put - s3://bucket/photos.tar
        haul put --method post -H 'Content-Type: text/csv' data.csv https://example.org/import
        haul put --field album=sea --form photo=@a.jpg https://example.org/photo-form

      Exit status: as of 'haul get'.
      """)

  /// What to do if the server has a file there.
  enum IfExists: String, CaseIterable { case overwrite, skip, update, fail }

  /// The letters of its options.
  static let letters = Set<Character>("Hqrvh46")

  @Argument(
    help: ArgumentHelp(
      "The files and directories, or - for standard input; then the address to upload to.",
      valueName: "FILE... URL"),
    completion: .file())
  var arguments: [String] = []

  @Option(
    help: ArgumentHelp(
      "How to send the file: put or post (default: put, which resumes if the server can).",
      valueName: "how"),
    completion: .list(["put", "post"]), transform: PutPlan.method)
  var method: UploadRequest.Method?

  @Option(
    help: ArgumentHelp(
      """
      If the server has a file there: overwrite = replace it; skip = keep it; update = keep it if \
      it is the same; fail = send nothing (default: overwrite).
      """, valueName: "what"),
    completion: .list(IfExists.allCases.map(\.rawValue)), transform: ArgumentValue.choice)
  var ifExists: IfExists?

  @Option(
    help: ArgumentHelp(
      "Replace only the version with this entity tag, with its quotes.", valueName: "TAG"))
  var ifMatch: String?

  @Option(
    help: ArgumentHelp(
      """
      Append a line of JSON to this file for each file that ends, and leave out those that it has \
      as complete and that have not changed since.
      """, valueName: "FILE"),
    completion: .file())
  var manifest: String?

  @OptionGroup var tree: TreeOptions

  @Flag(
    name: .shortAndLong,
    help: "A directory is always uploaded with all that is in it: this changes nothing.")
  var recursive = false

  @OptionGroup var form: FormOptions
  @OptionGroup(title: "S3") var s3: S3Options
  @OptionGroup(title: "Speed") var limits: LimitOptions
  @OptionGroup(title: "Credentials") var credentials: CredentialOptions
  @OptionGroup(title: "Network") var requests: RequestOptions
  @OptionGroup(title: "Network") var connections: ConnectionOptions
  @OptionGroup(title: "Output") var output: OutputArguments
  @OptionGroup(title: "Worker") var worker: WorkerOptions

  /// What the configuration says of these is about downloads.
  func overriddenSettings() -> Set<String>? {
    Settings.overridden(by: credentials, requests, connections)
      .union(Settings.overridden(by: output))
      .union(["if-exists", "http2", "trust-redirects"])
  }

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    try output.check()
    var plan = try PutPlan(self, sources)
    if manifest != nil {
      guard form.isEmpty, plan.output.input == nil else {
        throw UsageError("--manifest is for files: a later run has no such form or input")
      }
      plan.output.resumes = true
    }
    try worker.apply(to: &plan.output, manifest)
    guard !worker.workersMayOverlap else {
      throw UsageError("--workers-may-overlap is for 'haul get -o s3://…'")
    }
    guard worker.records == nil || plan.output.recordDirectory != nil else {
      throw UsageError("--records s3://… is for 'haul get -o s3://…'; a directory is for both")
    }
    return plan
  }

  /// What its manifest has; nil without one.
  func completeFiles() throws(UsageError) -> CompleteFiles? {
    guard let manifest else { return nil }
    guard !manifest.isEmpty, !manifest.hasByte(0), !manifest.endsWithSlash,
      !ListServer.has(manifest)
    else {
      throw UsageError("--manifest: name a file of this machine")
    }
    return CompleteFiles(by: manifest)
  }
}

extension PutPlan: CommandPlan {
  package func run(in context: ProcessContext) async -> ExitStatus {
    await ForegroundSession(
      requests: requests.map { TransferRequest(.upload($0)) }, managerOptions: managerOptions,
      output: output, indices: indices ?? Array(1...requests.count), rest: rest, notes: notes,
      manifest: manifest, problem: problem, context: context
    ).run()
  }
}
