import HaulCore

/// One address for `haul get`, from the command line or a list, with its own options.
struct GetItem: Sendable {
  /// Without an access key.
  let url: ResourceURL
  /// What the address names in an S3 store, and the settings of the store; nil for any other.
  let object: CommandStore.Object?
  /// The list and the line that it comes from; nil for the command line.
  var entry: (list: String, line: Int)?
  /// Which server has the list; nil for a file of this machine.
  var server: ListServer?
  var out: String?
  var dir: String?
  var checksums: [Checksum] = []
  var headers: [HeaderArgument.Field] = []
  /// Nil for those of the command.
  var credentials: ItemCredentials?
  /// 0 for none, whatever the command says.
  var rateLimit: Int64?
  /// Files at once of its host.
  var maximumPerHost: Int?
  /// Of the queue of the daemon.
  var group: String?
  /// All values of its row, by the names of the columns; those of patterns by their numbers.
  var columns: [String: String] = [:]

  init(_ address: String, in store: inout CommandStore) throws(UsageError) {
    if PutPlan.isS3(address) {
      let object = try store.object(address)
      (url, self.object) = (object.object.url, object)
    } else {
      (url, object) = (try AddressArgument.url(address), nil)
    }
  }

  init(
    _ entry: InputList.Entry, of name: String, _ server: ListServer? = nil,
    in store: inout CommandStore
  ) throws(UsageError) {
    var line = entry.line
    do {
      try self.init(entry.address, in: &store)
      out = entry.out
      self.server = server
      if let option = entry.server {
        line = option.line
        let own = try ListServer(option.text)
        self.server = server?.restricted(by: own) ?? own
        line = entry.line
      }
      try self.server?.check(entry, at: object == nil ? url : nil)
      for option in entry.checksums {
        line = option.line
        try GetPlan.add(option.text, to: &checksums, from: "checksum")
      }
      for option in entry.headers {
        line = option.line
        headers.append(try HeaderArgument.field(option.text, from: "header"))
      }
      if let option = entry.credentials.compactMap(\.self).first {
        line = option.line
        credentials = try ItemCredentials(entry, self.server)
      }
      if let option = entry.rateLimit {
        line = option.line
        rateLimit = try UsageError.checked(ArgumentValue.rate(option.text), at: "limit-rate")
      }
      if let option = entry.maximumPerHost {
        line = option.line
        maximumPerHost = try UsageError.checked(
          LimitOptions.count(option.text), at: "max-per-host")
      }
      if let option = entry.group {
        line = option.line
        group = try Self.group(option.text)
      }
    } catch {
      let mayBeTable = entry.line == 1 && !entry.address.hasBytes("://") && entry.columns.isEmpty
      let hint = mayBeTable ? " (if it is a table: --input-format)" : ""
      throw UsageError("\(name): line \(line): \(error.message)\(hint)")
    }
    if entry.out == "-" {
      throw UsageError("\(name): line \(entry.line): out: a list cannot write to standard output")
    }
    if PutPlan.isRemote(entry.dir) {
      throw UsageError(
        "\(name): line \(entry.line): dir names a directory of this machine; use out")
    }
    self.entry = (name, entry.line)
    dir = entry.dir
    columns = entry.columns
  }

  private static func group(_ text: String) throws(UsageError) -> String {
    do throws(WrongValue) {
      return try TransferRequest.name(text)
    } catch {
      throw UsageError("group: \(error.message)")
    }
  }
}

extension GetItem {
  /// Where it comes from, in words; nil for the command line.
  var listEntry: String? { entry.map { "\($0.list): line \($0.line)" } }

  /// The directories of its path, made safe: of an object, those of its key.
  func directories() throws(UsageError) -> [String] {
    let found =
      object.map { FileName.directories(ofKey: $0.object.key) } ?? FileName.directories(of: url)
    guard let found else {
      throw UsageError(
        "\(listEntry.map { "\($0): " } ?? "")\(url.redacted): a name in its path is empty, '.' or "
          + "'..', or has an encoded slash, so the path cannot be kept; name the file: out or -o")
    }
    return found
  }

  /// Whether it has its own destination, different from the command line's.
  var hasOwnDestination: Bool { out != nil || dir != nil }

  /// The options of the command line, with the item's own `out` and `dir`.
  private func options(_ common: DestinationOptions) throws(UsageError) -> DestinationOptions {
    guard hasOwnDestination else { return common }
    if listEntry != nil, out != nil, common.output != nil {
      throw UsageError("out and -o contradict each other")
    }
    var options = common
    if let server {
      if let out { options.output = try server.path(out, "out") }
      options.directory = common.directory ?? "."
      if let dir {
        options.directory = options.directory?.appendingPath(try server.path(dir, "dir"))
      }
      return options
    }
    options.output = out ?? options.output
    options.directory = dir ?? options.directory
    if out?.isAbsolutePath == true, dir == nil { options.directory = nil }
    return options
  }

  /// Its destination, and whether a missing directory of that path is created.
  func destination(
    _ common: DestinationOptions
  ) throws(UsageError) -> (DownloadRequest.Destination, createsDirectories: Bool) {
    let entry = hasOwnDestination ? listEntry : nil
    let options = try UsageError.checked(options(common), at: entry)
    let createsDirectories = options.output != nil && options.directory != nil
    return (try UsageError.checked(GetPlan.destination(options), at: entry), createsDirectories)
  }

  /// The header fields: those of the command line, except where the item has a field of the same
  /// name.
  func fields(with common: [HeaderArgument.Field]) -> [HeaderArgument.Field] {
    guard !headers.isEmpty || credentials != nil else { return common }
    let own = Set(headers.map { $0.name.lowercased() }).union(credentials?.replaced ?? [])
    return common.filter { !own.contains($0.name.lowercased()) } + headers
  }
}
