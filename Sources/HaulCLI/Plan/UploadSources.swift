import HaulCore

/// The files that `haul put` sends: those of its arguments, and those in its directories, in this
/// order.
struct UploadSources: Sendable {
  /// What one upload sends.
  struct Source: Sendable {
    let sent: UploadRequest.Source
    /// Below the address, its own name last.
    let names: [String]
    /// The directory of the arguments that it was found in, unless a link leads there, and which
    /// file it was; nil for an argument itself.
    var listed: (directory: String?, identity: FileIdentity?)?

    /// Makes the upload send it, and no other file.
    func apply(to upload: inout UploadRequest) {
      upload.source = sent
      (upload.listedIn, upload.listed) = (listed?.directory, listed?.identity)
    }
  }

  /// The arguments that follow, each with what it contains if it is a directory.
  private var arguments: ArraySlice<(path: String, tree: UploadTree?)> = []
  /// The directory that is being read.
  private var current: (directory: String, entries: UploadTree.Iterator)?
  private var isInput: Bool
  private let makesDirectories: Bool
  /// Whether two files may have the same name below the address. In one directory they cannot.
  let mayMeet: Bool
  /// What the directories have that is not sent.
  private(set) var leftOut = UploadTree.LeftOut()

  /// - Parameters:
  ///   - isCollection: whether each file keeps its name below the address.
  ///   - links: what is done with those in directories; without it they are left out.
  ///   - input: the open descriptor that is sent instead; nil for files.
  /// - Throws: for a directory that cannot be sent that way, or not as a whole.
  init(
    _ files: ArraySlice<String>, by method: UploadRequest.Method, isCollection: Bool,
    _ links: UploadTree.Links?, _ input: Int32?, _ sources: CommandSources
  ) throws(UsageError) {
    let kind = method.uploadProtocol
    isInput = input != nil
    makesDirectories = kind.makesDirectories
    guard input == nil else {
      mayMeet = false
      return
    }
    var names: Set<String> = []
    for argument in files {
      let tree = try sources.tree(argument, links ?? .skip)
      arguments.append((argument, tree))
      guard let tree else {
        names.insert(argument.lastPathName ?? "")
        continue
      }
      names.insert(Self.names(above: argument).first ?? "")
      guard kind.namesFile, isCollection else {
        throw UsageError(
          "\(argument) is a directory: it needs an address that ends with '/', and PUT, WebDAV or S3"
        )
      }
      guard tree.contains(where: { !$0.isDirectory || kind.makesDirectories }) else {
        let hasLinks = tree.leftOut.links.count > 0
        let advice = hasLinks ? ", but a symbolic link; --links follow sends what it leads to" : ""
        throw UsageError("\(argument): there is no file in it\(advice)")
      }
      leftOut.add(tree.leftOut)
    }
    mayMeet = files.count > 1 && (names.count < files.count || names.contains(""))
  }

  mutating func next() -> Source? {
    if isInput {
      isInput = false
      return Source(sent: .stream(nil), names: [])
    }
    while true {
      if let entry = current?.entries.next() {
        if !entry.isDirectory || makesDirectories { return source(entry) }
        continue
      }
      guard let (path, tree) = arguments.popFirst() else { return nil }
      guard let tree else {
        return Source(sent: .file(path), names: [path.lastPathName ?? ""])
      }
      current = (path, tree.makeIterator())
    }
  }

  /// Without a slash at its end, the directory keeps its name; with one, only its content is sent.
  private static func names(above directory: String) -> [String] {
    let name = directory.endsWithSlash ? "" : directory.lastPathName ?? ""
    return ["", ".", ".."].contains(name) ? [] : [name]
  }

  private func source(_ entry: UploadTree.Entry) -> Source {
    let directory = current?.directory ?? ""
    // A directory ends with a slash, as `UploadRequest` wants it.
    let names = entry.names + (entry.isDirectory ? [""] : [])
    return Source(
      sent: .file(directory.appendingPath(names.joined(separator: "/"))),
      names: Self.names(above: directory) + names,
      listed: (entry.isLinked ? nil : directory, entry.identity))
  }
}

/// Makes the uploads of sources.
struct SourceUploads: TransferReader {
  private var sources: UploadSources
  private let make: @Sendable (UploadSources.Source) throws(UsageError) -> UploadRequest
  private var number = 0
  /// The numbers of those that are left out.
  private var leftOut = IndexBitSet()

  init(
    of sources: UploadSources,
    _ make: @escaping @Sendable (UploadSources.Source) throws(UsageError) -> UploadRequest
  ) {
    (self.sources, self.make) = (sources, make)
  }

  private mutating func next() throws(UsageError) -> UploadRequest? {
    guard let source = sources.next() else { return nil }
    number += 1
    return try make(source)
  }

  mutating func next(
    atMost count: Int
  ) throws(UsageError) -> [(request: TransferRequest, index: Int)] {
    var uploads: [(request: TransferRequest, index: Int)] = []
    while uploads.count < count, let upload = try next() {
      if leftOut.contains(number) { continue }
      uploads.append((TransferRequest(.upload(upload)), number))
    }
    return uploads
  }

  /// Makes all uploads, and keeps the first ones.
  /// - Parameters:
  ///   - names: whether each file has its own name on the server.
  ///   - complete: what is left out; nil for nothing.
  /// - Throws: if one of the files would replace another.
  func checked(
    names: Bool, window: Int, _ complete: CompleteFiles?
  ) throws(UsageError) -> (first: [UploadRequest], indices: [Int], rest: InputRest?) {
    var (all, following, first, indices) = (self, self, [UploadRequest](), [Int]())
    var (known, leftOut, count) = (FirstItems(), IndexBitSet(), 0)
    while let upload = try all.next() {
      if names, sources.mayMeet, case .file(let path) = upload.source {
        let other = try known.item(with: upload.url, orSet: all.number) {
          (number) throws(UsageError) in
          let earlier = try self.upload(number)
          return earlier?.url == upload.url ? earlier : nil
        }
        if let other = other?.source.files.first {
          throw UsageError(
            "\(other) and \(path) have the same name; upload them to different addresses")
        }
      }
      if complete?.leaveOut(TransferRequest(.upload(upload))) == true {
        leftOut.insert(all.number)
      } else if first.count < window {
        first.append(upload)
        indices.append(all.number)
        if first.count == window { following = all }
      } else {
        count += 1
      }
    }
    guard count > 0 else { return (first, indices, nil) }
    following.leftOut = leftOut
    return (first, indices, InputRest(count: count, window: window, following))
  }

  /// An upload by its number. It is only looked for if there is an error.
  private func upload(_ number: Int) throws(UsageError) -> UploadRequest? {
    var (all, found) = (self, UploadRequest?.none)
    while all.number < number, let upload = try all.next() { found = upload }
    return found
  }
}

extension UploadSources.Source {
  /// Its names, with slashes between them.
  func key() throws(UsageError) -> String {
    try checkName()
    return names.joined(separator: "/")
  }

  private var shown: String { sent.files.first ?? names.joined(separator: "/") }

  private func checkName() throws(UsageError) {
    guard let first = names.first, !["", ".", ".."].contains(first) else {
      throw UsageError("\(shown): that names no file")
    }
  }

  /// The address of a source in a collection, each name percent-encoded; the query stays.
  func address(in url: ResourceURL) throws(UsageError) -> ResourceURL {
    try checkName()
    let encoded = names.map { PercentCoding.component($0) }
    let query = url.query.map { "?\($0)" } ?? ""
    return try UsageError.checked(
      url.resolving("./" + encoded.joined(separator: "/") + query).adoptingCredentials(of: url),
      at: shown)
  }
}
