package import HaulCore

/// A transfer to add, as JSON: a download, an upload or a program. Keys that are left out have the
/// defaults of the command line.
package struct NewTransfer: Codable, Sendable {
  /// With absolute paths.
  package let request: TransferRequest
  /// Whether it has a key of a program.
  package let namesProgram: Bool

  /// - Parameter request: a download to a file or a directory, an upload, or a program, with
  ///   absolute paths.
  /// - Throws: `not-yet-supported` for a stream or a step that is a closure, which do not leave
  ///   their process.
  package init(_ request: TransferRequest) throws(TransferError) {
    if request.download?.destination == .stream {
      throw TransferError(
        .notYetSupported, "the daemon cannot write to a stream", advice: "use a file")
    }
    if case .stream? = request.upload?.source {
      throw TransferError(.notYetSupported, "the daemon cannot read a stream", advice: "use a file")
    }
    if case .step(let step) = request.work, case .named = step.action {
      throw TransferError(
        .notYetSupported, "a closure cannot run in the daemon", advice: "use a program")
    }
    (self.request, namesProgram) = (request, request.kind == .step)
  }

  /// - Throws: `StrictJSON.Malformed` for another key, `DecodingError` for a value of another type,
  ///   and then `Problem` (422) for a value that no transfer can have.
  package init(from decoder: any Decoder) throws {
    let body = try TransferBody(from: decoder)
    do {
      request = try body.request()
    } catch let error as WrongValue {
      throw Problem(error)
    }
    namesProgram = body.run != nil || body.workingDirectory != nil
  }

  package func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: AnyKey.self)
    var request = request
    request.startSeconds = request.startTime
    try TransferRequest.fields.json.write(request, to: &object)
    if !request.dependencies.isEmpty {
      try object.encode(request.dependencies.map(TransferBody.Dependency.init), forKey: "after")
    }
    switch request.work {
    case .download(let download):
      try object.encodeIfPresent(download.destination.path, forKey: download.destination.key)
      try object.encode(download.url, and: download.headers)
      try DownloadRequest.fields.json.write(download, to: &object)
    case .upload(let upload):
      try object.encode(upload.url, and: upload.headers)
      try UploadRequest.fields.json.write(upload, to: &object)
      switch upload.source {
      case .file(let path): try object.encode(path, forKey: "put")
      case .form(let parts): try object.encode(parts.map(TransferBody.Part.init), forKey: "form")
      case .remote(let download):
        var source = object.nestedContainer(keyedBy: AnyKey.self, forKey: "get")
        try source.encode(download.url, and: download.headers)
        try DownloadRequest.fields.source.write(download, to: &source)
      case .stream: break  // `init` refuses it.
      }
      switch upload.precondition {
      case .none where upload.ifExists != .overwrite:
        try object.encode(upload.ifExists, forKey: "if_exists")
      case .none: break
      case .absent: try object.encode(DownloadRequest.IfExists.fail, forKey: "if_exists")
      case .entityTag(let tag): try object.encode(tag, forKey: "if_match")
      }
    case .step(let step):
      if case .program(let arguments, let directory) = step.action {
        try object.encode(arguments, forKey: "run")
        try object.encodeIfPresent(directory, forKey: "working_directory")
      }
      try StepRequest.fields.json.write(step, to: &object)
    }
  }
}

extension DownloadRequest.Destination {
  fileprivate var key: AnyKey { isExact ? "file" : "directory" }
}

extension KeyedEncodingContainer<AnyKey> {
  fileprivate mutating func encode(_ url: ResourceURL, and fields: HeaderFields) throws {
    try encode(url.text, forKey: "url")
    try encode(fields.fields, forKey: "headers")
  }
}
