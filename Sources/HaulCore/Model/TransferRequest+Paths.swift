/// The paths of a request: checked when it is added, and stored as absolute paths.
extension TransferRequest {
  /// Whether its meaning depends on the working directory.
  package var hasRelativePath: Bool {
    switch work {
    case .download(let download):
      !([download.destination.path, download.bearerFile].compactMap(\.self)
        + (download.keySource?.paths ?? [])).allSatisfy(\.isAbsolutePath)
    case .upload(let upload):
      !(upload.source.files + bearerFiles + keySources.flatMap(\.paths))
        .allSatisfy(\.isAbsolutePath)
    case .step(let step):
      if case .program(_, let directory) = step.action {
        directory?.isAbsolutePath != true
      } else {
        false
      }
    }
  }

  /// Where the keys of S3 stores come from that its requests are signed with.
  package var keySources: [S3KeySource] {
    [download?.keySource, upload?.keySource, upload?.download?.keySource].compactMap(\.self)
  }

  /// The files of the tokens that its requests have.
  package var bearerFiles: [String] {
    [download?.bearerFile, upload?.bearerFile, upload?.download?.bearerFile].compactMap(\.self)
  }

  /// The same request, with relative paths resolved against this directory.
  package func absolute(in directory: String) -> TransferRequest {
    func absolute(_ path: String) -> String {
      path.isAbsolutePath ? path : directory.appendingPath(path)
    }
    var request = self
    switch work {
    case .download(var download):
      switch download.destination {
      case .file(let path): download.destination = .file(absolute(path))
      case .directory(let path):
        download.destination = .directory(
          path.isEmpty || path == "." ? directory : absolute(path))
      case .stream: break
      }
      download.keySource = download.keySource?.mappingPaths(absolute)
      download.bearerFile = download.bearerFile.map(absolute)
      request.work = .download(download)
    case .upload(let upload): request.work = .upload(upload.mappingPaths(absolute))
    case .step(var step):
      guard case .program(let arguments, let path) = step.action else { break }
      step.action = .program(arguments, directory: path.map(absolute) ?? directory)
      request.work = .step(step)
    }
    return request
  }

  /// - Throws: `bad-name` for a path with a NUL, which the system would read only in part.
  package func checkPaths() throws(TransferError) {
    switch work {
    case .download(let download): try download.checkPaths()
    case .upload(let upload):
      for path in upload.source.files { try path.checkPath() }
      try upload.checkDownload()
    case .step(let step):
      if case .program(_, let directory?) = step.action { try directory.checkPath() }
    }
  }
}

extension UploadRequest {
  /// - Throws: `not-yet-supported` for a remote source that it cannot send as it is asked to.
  fileprivate func checkDownload() throws(TransferError) {
    guard let download else { return }
    guard method.uploadProtocol.isIdempotent else {
      throw TransferError(.notYetSupported, "a remote source is not sent with POST")
    }
    try download.checkAsSource()
  }
}

extension DownloadRequest {
  /// - Throws: `bad-name` for a path with a NUL, which the system would read only in part, and for
  ///   a file with the name of a part file or a journal, which a download beside it would take.
  package func checkPaths() throws(TransferError) {
    try destination.path?.checkPath()
    try destination.checkName()
  }
}

extension DownloadRequest.Destination {
  /// - Throws: `bad-name` for a file with the name of a part file or a journal.
  package func checkName() throws(TransferError) {
    guard case .file(let path) = self else { return }
    let (part, journal) = (FileName.partSuffix, FileName.journalSuffix)
    let end = String(decoding: path.utf8.suffix(journal.utf8.count), as: UTF8.self).lowercased()
    guard !end.hasByteSuffix(part), end != journal else {
      throw TransferError(
        .badName,
        "names that end with \(part) or \(journal) are for unfinished files",
        advice: "choose another name")
    }
  }

  /// The path of the file or the directory; nil, and not settable, for a stream.
  package var path: String? {
    get {
      switch self {
      case .file(let path), .directory(let path): path
      case .stream: nil
      }
    }
    set {
      guard path != nil, let newValue else { return }
      self = isExact ? .file(newValue) : .directory(newValue)
    }
  }
}

extension String {
  /// Whether it contains this byte. `utf8.contains` is slower, because it takes the general path
  /// for each byte.
  package func hasByte(_ byte: UInt8) -> Bool {
    utf8.withContiguousStorageIfAvailable { $0.contains(byte) } ?? utf8.contains(byte)
  }

  /// - Throws: `bad-name` if it contains a NUL, where the system would end the path.
  package func checkPath() throws(TransferError) {
    guard !hasByte(0) else {
      throw TransferError(
        .badName, "the path \(Self.quoted(self)) contains a NUL", advice: "remove it")
    }
  }

  private static func quoted(_ path: String) -> String {
    "'\(path.replacingBytes("\0", with: "\\0"))'"
  }
}
