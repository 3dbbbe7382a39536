import HaulCore

/// A request without the parts that have their own columns (address, target, identifier, group,
/// dependencies) and without secrets.
struct StoredRequest: Codable, Hashable {
  private var request: TransferRequest

  init(_ request: TransferRequest) {
    self.request = request
    (self.request.identifier, self.request.group, self.request.dependencies) = (nil, nil, [])
    (self.request.whenDependencyFails, self.request.startSeconds) = (.block, request.startTime)
    switch request.work {
    case .download(let download): self.request.work = .download(download.withoutColumns)
    case .upload(var upload):
      (upload.url, upload.headers) = (.unknown, HeaderFields())
      if case .form(let parts) = upload.source {
        upload.source = .form(parts.map { $0.text == nil ? $0 : FormPart($0.name, .text("")) })
      }
      upload.download = upload.download?.withoutColumns
      self.request.work = .upload(upload)
    case .step: break
    }
  }

  init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: AnyKey.self)
    let work: TransferRequest.Work? =
      if let download = try object.object("download") {
        .download(try DownloadRequest(stored: download))
      } else if let upload = try object.object("upload") {
        .upload(try UploadRequest(stored: upload))
      } else {
        try object.object("step").map { .step(try StepRequest(stored: $0)) }
      }
    guard let work else { throw TransferError.unreadable("a kind of work") }
    request = TransferRequest(work)
    try TransferRequest.fields.stored.changes(in: object).apply(to: &request)
  }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: AnyKey.self)
    try TransferRequest.fields.stored.write(request, to: &object)
    switch request.work {
    case .download(let download): try download.store(in: object.object("download"))
    case .upload(let upload): try upload.store(in: object.object("upload"))
    case .step(let step): try step.store(in: object.object("step"))
    }
  }

  /// The address of an upload's remote source is unknown until `RequestSecrets.source` is set.
  /// - Throws: `io` for a target that the destination does not have, or lacks.
  func request(_ address: @autoclosure () throws(TransferError) -> ResourceURL, target: String?)
    throws(TransferError) -> TransferRequest
  {
    var request = request
    switch request.work {
    case .download(var download):
      download.url = try address()
      try download.place(at: target)
      request.work = .download(download)
    case .upload(var upload):
      upload.url = try address()
      request.work = .upload(upload)
    case .step: break
    }
    return request
  }
}

extension KeyedDecodingContainer<AnyKey> {
  fileprivate func object(_ key: AnyKey) throws -> KeyedDecodingContainer<AnyKey>? {
    contains(key) ? try nestedContainer(keyedBy: AnyKey.self, forKey: key) : nil
  }
}

extension KeyedEncodingContainer<AnyKey> {
  fileprivate mutating func object(_ key: AnyKey) -> KeyedEncodingContainer<AnyKey> {
    nestedContainer(keyedBy: AnyKey.self, forKey: key)
  }
}

extension DownloadRequest {
  fileprivate var withoutColumns: DownloadRequest {
    var download = self
    (download.url, download.headers, download.destination.path) = (.unknown, HeaderFields(), "")
    return download
  }

  fileprivate init(stored object: KeyedDecodingContainer<AnyKey>) throws {
    let destination: Destination =
      switch try object.decode(String.self, forKey: "destination") {
      case "file": .file("")
      case "directory": .directory("")
      case "stream": .stream
      default: throw TransferError.unreadable("a destination")
      }
    self.init(url: ResourceURL.unknown, to: destination)
    try Self.fields.stored.changes(in: object).apply(to: &self)
  }

  /// - Throws: `io` when only one of them has a path.
  fileprivate mutating func place(at target: String?) throws(TransferError) {
    guard (destination.path == nil) == (target == nil) else { throw .unreadable("a destination") }
    destination.path = target
  }

  fileprivate func store(in object: consuming KeyedEncodingContainer<AnyKey>) throws {
    let name =
      switch destination {
      case .file: "file"
      case .directory: "directory"
      case .stream: "stream"
      }
    try object.encode(name, forKey: "destination")
    try Self.fields.stored.write(self, to: &object)
  }
}

extension UploadRequest {
  fileprivate init(stored object: KeyedDecodingContainer<AnyKey>) throws {
    var download = try object.object("download").map { try DownloadRequest(stored: $0) }
    try download?.place(at: nil)
    self.init(to: ResourceURL.unknown)
    source = try Source(in: object, form: "form", remote: download)
    try Self.fields.stored.changes(in: object).apply(to: &self)
  }

  fileprivate func store(in object: consuming KeyedEncodingContainer<AnyKey>) throws {
    try source.write(to: &object, form: "form")
    try download?.store(in: object.object("download"))
    try Self.fields.stored.write(self, to: &object)
  }
}

extension StepRequest {
  fileprivate init(stored object: KeyedDecodingContainer<AnyKey>) throws {
    if let name = try object.decodeIfPresent(String.self, forKey: "name") {
      self.init(.named(name, input: try object.decodeIfPresent(String.self, forKey: "input")))
    } else if let program = try object.decodeIfPresent([String].self, forKey: "program") {
      let directory = try object.decodeIfPresent(String.self, forKey: "directory")
      self.init(.program(program, directory: directory))
    } else {
      throw TransferError.unreadable("a kind of step")
    }
    try Self.fields.stored.changes(in: object).apply(to: &self)
  }

  fileprivate func store(in object: consuming KeyedEncodingContainer<AnyKey>) throws {
    switch action {
    case .named(let name, let input):
      try object.encode(name, forKey: "name")
      try object.encodeIfPresent(input, forKey: "input")
    case .program(let arguments, let directory):
      try object.encode(arguments, forKey: "program")
      try object.encodeIfPresent(directory, forKey: "directory")
    }
    try Self.fields.stored.write(self, to: &object)
  }
}
