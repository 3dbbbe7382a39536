import ArgumentParser
import HaulControl
import HaulCore

/// The arguments of `haul add`; `AddPlan` interprets them.
struct AddCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Adds downloads, uploads or a program to the background queue.",
    discussion: """
      Prints the id of each. The daemon is started if it is not running; 'haul list' shows the \
      queue. Options for all transfers together (-j, --proxy, ...) belong to 'haul serve'.

      Examples:
        haul add https://example.org/big.iso
        haul add -d Music --group album --priority background https://example.org/a
        haul add --put report.pdf https://example.org/files/
        haul add --put movie.mkv s3://bucket/movies/
        haul add --field album=sea --form photo=@a.jpg https://example.org/photo-form
        haul add --after 4FZ0 --run -- tar xf big.tar

      Exit status: 0 all were added; 1 an error; 2 wrong usage, nothing was added.
      """)

  @Argument(
    help: ArgumentHelp(
      "What to download; with --put, the files, then the address; with --run, the program.",
      valueName: "URL"))
  var arguments: [String] = []

  @OptionGroup(title: "Destination") var destination: DestinationOptions
  @OptionGroup(title: "Content") var content: ContentOptions
  @OptionGroup(title: "Speed") var ranges: RangeOptions
  @OptionGroup(title: "Credentials") var credentials: CredentialOptions
  @OptionGroup(title: "Network") var requests: RequestOptions
  @OptionGroup(title: "Queue") var queue: QueueOptions

  @Flag(help: "Upload files, as 'haul put' does, in place of a download.")
  var put = false

  @Option(
    help: ArgumentHelp("With --put: put or post (default: put).", valueName: "how"),
    completion: .list(["put", "post"]), transform: PutPlan.method)
  var method: UploadRequest.Method?

  @Option(
    help: ArgumentHelp(
      "With --put: replace only the version with this entity tag.", valueName: "TAG"))
  var ifMatch: String?

  @OptionGroup var form: FormOptions
  @OptionGroup(title: "S3") var s3: S3Options

  @Flag(help: "Run a program, given after --, in place of a download.")
  var run = false

  @Flag(help: "Print the daemon's response as JSON.")
  var json = false

  @Flag(name: .shortAndLong, help: "Print only ids and errors.")
  var quiet = false
}

/// The queue options of a transfer.
struct QueueOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "user-interactive, user-initiated, default, utility or background.", valueName: "PRIORITY"),
    completion: .list(TransferRequest.Priority.allCases.map(\.name)),
    transform: ArgumentValue.priority)
  var priority = TransferRequest.Priority.default

  @Option(help: ArgumentHelp("The group of the transfers.", valueName: "NAME"))
  var group: String?

  @Option(
    help: ArgumentHelp(
      "Start when that transfer is completed; may be repeated.", valueName: "ID"))
  var after: [String] = []

  @Option(
    help: ArgumentHelp(
      "Start at this time: 22:00 (the next one), 2026-11-24T22:00, or that with a zone at its end.",
      valueName: "TIME"))
  var at: String?

  @Option(
    name: .customLong("id"),
    help: ArgumentHelp(
      "Your own name for the transfer; adding that name again finds it.", valueName: "NAME"))
  var identifier: String?

  @Option(
    name: .customLong("limit-rate"),
    help: ArgumentHelp(
      "Bytes per second of each download, within the limits of the daemon (default: no limit).",
      valueName: "RATE"),
    transform: ArgumentValue.bytes)
  var rateLimit: Int64?

  @Flag(help: "Do not report progress of the transfers.")
  var noProgressEvents = false
}
