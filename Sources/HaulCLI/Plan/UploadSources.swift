import HaulCore

/// The files that `haul put` sends: those of its arguments, and those in its directories.
struct UploadSources {
  /// What one upload sends.
  struct Source {
    let sent: UploadRequest.Source
    /// Below the address, its own name last.
    let names: [String]
    /// The directory of the arguments that it was found in, and which file it was; nil for an
    /// argument itself.
    var listed: (directory: String, identity: FileIdentity?)?

    /// Makes the upload send it, and no other file.
    func apply(to upload: inout UploadRequest) {
      upload.source = sent
      (upload.listedIn, upload.listed) = (listed?.directory, listed?.identity)
    }
  }

  private let arguments: ArraySlice<String>
  private let sources: CommandSources

  init(_ arguments: ArraySlice<String>, _ sources: CommandSources) {
    self.arguments = arguments
    self.sources = sources
  }

  /// - Parameters:
  ///   - isCollection: whether each file keeps its name below the address.
  ///   - input: the open descriptor that is sent instead; nil for files.
  /// - Throws: for a directory that cannot be sent that way, or not as a whole.
  func all(
    by method: UploadRequest.Method, isCollection: Bool, _ input: Int32?
  ) throws(UsageError) -> [Source] {
    guard input == nil else { return [Source(sent: .stream(nil), names: [])] }
    let kind = method.uploadProtocol
    var all: [Source] = []
    for argument in arguments {
      guard let tree = try sources.tree(argument) else {
        all.append(Source(sent: .file(argument), names: [argument.lastPathName ?? ""]))
        continue
      }
      guard kind.namesFile, isCollection else {
        throw UsageError(
          "\(argument) is a directory: it needs an address that ends with '/', and PUT, WebDAV or S3"
        )
      }
      let entries = tree.entries.filter { !$0.isDirectory || kind.makesDirectories }
      let files = files(entries, below: argument)
      guard !files.isEmpty else { throw UsageError("\(argument): there is no file in it") }
      all += files
    }
    return all
  }

  /// Without a slash at its end, the directory keeps its name; with one, only its content is sent.
  private func files(_ entries: [UploadTree.Entry], below directory: String) -> [Source] {
    let name = directory.endsWithSlash ? "" : directory.lastPathName ?? ""
    let above = ["", ".", ".."].contains(name) ? [] : [name]
    return entries.map { entry in
      // A directory ends with a slash, as `UploadRequest` wants it.
      let end = entry.isDirectory ? [""] : []
      return Source(
        sent: .file(directory.appendingPath((entry.names + end).joined(separator: "/"))),
        names: above + entry.names + end, listed: (directory, entry.identity))
    }
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
    let encoded = names.map(PercentCoding.component)
    let query = url.query.map { "?\($0)" } ?? ""
    do {
      return try url.resolving("./" + encoded.joined(separator: "/") + query)
        .adoptingCredentials(of: url)
    } catch {
      throw UsageError("\(shown): \(error.message)")
    }
  }
}
