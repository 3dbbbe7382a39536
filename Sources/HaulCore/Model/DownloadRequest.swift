/// What to transfer, where to, and under which rules: a plain value; nothing runs until it is
/// added.
public struct DownloadRequest: Sendable, Hashable, Codable {
  /// Where a download is put.
  public enum Destination: Sendable, Hashable, Codable {
    /// At exactly this path.
    case file(String)
    /// In this directory (made if missing), under a name taken from the address.
    case directory(String)
    /// To whoever reads it, in order, with `TransferManager.bytes(of:)`: no file is made.
    case stream

    /// Whether the file's name is given, and not derived.
    package var isExact: Bool { if case .file = self { true } else { false } }
  }

  /// What happens when the final name is taken.
  public enum IfExists: String, CaseIterable, Sendable, Codable {
    /// A file with the remote length and modification time (or the given checksums) is taken as
    /// already there. One that an earlier download of the same address made, and nobody changed
    /// since, is replaced when the new one is whole. Any other is left alone: as `rename` for a
    /// derived name, and as `fail` for an exact one.
    case update
    /// Any file of that name is taken as already there.
    case skip
    /// The new file is saved as `NAME (1).EXT`.
    case rename
    /// The old file is replaced, in one step, when the new one is whole.
    case overwrite
    /// The transfer fails with `name-conflict`.
    case fail
  }

  /// What a finished file survives.
  public enum Durability: String, CaseIterable, Sendable, Codable {
    /// The death of the process and a power cut.
    case strict
    /// The death of the process.
    case relaxed
  }

  /// What to download.
  public var url: ResourceURL
  /// Where to.
  public var destination: Destination
  /// Whether the directory of an exact path is made if missing, as that of a derived name is.
  public var createsDirectories = false
  /// What happens when the final name is taken.
  public var ifExists: IfExists = .update
  /// What a finished file survives.
  public var durability: Durability = .strict
  /// The digests that the whole file must have: all of them.
  public var checksums: [Checksum] = []
  /// Header fields to send; they never follow a redirect to another origin.
  public var headers: [(name: String, value: String)] {
    get { fields.fields.map { ($0.name, $0.value) } }
    set { fields = HeaderFields(newValue.map { ($0.name, $0.value) }) }
  }
  package var fields = HeaderFields()
  /// The most connections that one transfer may use.
  public var connections = 8
  /// The least number of bytes worth a connection of its own.
  public var minimumSplit: Int64 = 1 << 20
  /// A longer file is refused before its body is fetched, in bytes.
  public var maximumSize: Int64?
  /// Ask for a body with a content coding (gzip, deflate, br) and store it decoded, of at most
  /// `maximumSize` or 1 GiB. It goes over one connection and begins anew after a pause: of a
  /// decoded body no part can be asked for. `checksums` are of the decoded file. A coding that is
  /// unknown here fails with `not-yet-supported`.
  public var decodesContent = false
  /// Take the name that the server suggests (`Content-Disposition`) before the one in the address;
  /// made safe, and only for a directory.
  public var usesServerName = false
  /// Forget the bytes of an earlier run.
  public var startOver = false
  /// Allow parallel ranges, and a resume after comparing bytes, for servers without validators.
  /// Such a file is `unverified`.
  public var allowUnverified = false
  /// Bytes of an earlier run count although they came from another address, when length and strong
  /// validator match.
  public var resumesFromAnotherAddress = false
  /// Do not check the server's certificate; never inherited by a redirect to another origin.
  public var allowInsecure = false
  /// Hosts that get the header fields and the user information too when a redirect leads there over
  /// https.
  public var trustedRedirectHosts: Set<String> = []
  /// When a failed attempt is made again.
  public var retry = RetryPolicy()

  /// A download with the defaults of the command line.
  public init(url: ResourceURL, to destination: Destination) {
    self.url = url
    self.destination = destination
  }
}
