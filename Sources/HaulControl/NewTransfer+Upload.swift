package import HaulCore

/// Uploads, to and from the library's request.
extension NewTransfer {
  /// The absolute paths of the files that it writes or sends.
  package var files: [String] {
    [file, put].compactMap(\.self) + (form ?? []).compactMap(\.file)
  }

  private static let longestAddress = 64 << 10

  /// - Throws: `Problem` (422).
  package static func address(_ text: String) throws(Problem) -> ResourceURL {
    guard text.utf8.count <= longestAddress else {
      throw wrong("an address has at most \(longestAddress) bytes")
    }
    do {
      return try ResourceURL(text)
    } catch {
      throw Problem(error)
    }
  }

  /// An upload of a file.
  func upload(_ path: String, to text: String) throws(Problem) -> UploadRequest {
    var request = UploadRequest(try Self.absolute(path), to: try Self.address(text))
    try apply(to: &request)
    return request
  }

  /// An upload of a form.
  func upload(_ form: [Part], to text: String) throws(Problem) -> UploadRequest {
    let parts = try form.map { (part) throws(Problem) in try part.part }
    guard form.contains(where: { $0.file != nil }) else {
      throw Self.wrong("'form' has no 'file'")
    }
    var request = UploadRequest(form: parts, to: try Self.address(text))
    try apply(to: &request)
    guard request.method.uploadProtocol.takesForms else {
      throw Self.wrong("'form' is for the methods put and post")
    }
    return request
  }

  func apply(to request: inout UploadRequest) throws(Problem) {
    if let method {
      guard let known = UploadRequest.Method(rawValue: method.uppercased()) else {
        let names = UploadRequest.Method.allCases.map { $0.rawValue.lowercased() }
          .joined(separator: ", ")
        throw Self.wrong("there is no method '\(method)'; use one of \(names)")
      }
      request.method = known
    }
    guard request.method.uploadProtocol.isSigned || region == nil else {
      throw Self.wrong("'region' is for the method s3")
    }
    if request.method.uploadProtocol.isSigned { try request.checkObject(in: region) }
    request.region = region
    request.precondition = try precondition(of: request.method)
    request.headers = try (headers ?? []).map(Self.field)
    request.rateLimit = try rateLimit.flatMap(Self.rate)
    request.allowInsecure = allowInsecure ?? false
    request.retry = try retryPolicy(request.retry)
  }

  private func precondition(
    of method: UploadRequest.Method
  ) throws(Problem) -> UploadRequest.Precondition {
    if let ifMatch, EntityTag(ifMatch)?.isWeak != false {
      throw Self.wrong("'if_match' is a strong entity tag, with its quotes")
    }
    let kind = method.uploadProtocol
    guard ifMatch == nil || kind.canRequireVersion, ifExists == nil || kind.canRequireAbsence else {
      throw Self.wrong(
        "'if_match' is for the methods put and s3, 'if_exists' for put, s3 and webdav")
    }
    switch (ifExists, ifMatch) {
    case (nil, let tag?): return .entityTag(tag)
    case (nil, nil), (.overwrite, nil): return .none
    case (.fail, nil): return .absent
    case (_, .some): throw Self.wrong("'if_exists' and 'if_match' contradict each other")
    default: throw Self.wrong("'if_exists' of an upload is overwrite or fail")
    }
  }

  mutating func take(_ upload: UploadRequest) {
    (url, method) = (upload.url.text, upload.method.rawValue.lowercased())
    if let download = upload.download {
      get = Source(download)
    } else if let parts = upload.parts {
      form = parts.map(Part.init)
    } else {
      put = upload.source
    }
    region = upload.region
    switch upload.precondition {
    case .none: break
    case .absent: ifExists = .fail
    case .entityTag(let tag): ifMatch = tag
    }
    headers = upload.headers.map { Field(name: $0.name, value: $0.value) }
    (rateLimit, allowInsecure) = (upload.rateLimit, upload.allowInsecure)
    take(upload.retry)
  }
}

extension NewTransfer.Part {
  fileprivate init(_ part: FormPart) {
    name = part.name
    switch part.content {
    case .text(let text): self.text = text
    case .file(let path): file = path
    }
  }

  /// - Throws: `Problem` (422). Its message has no text: it may be a secret.
  fileprivate var part: FormPart {
    get throws(Problem) {
      guard !name.isEmpty else { throw NewTransfer.wrong("a part of 'form' has an empty 'name'") }
      switch (text, file) {
      case (let text?, nil): return FormPart(name, .text(text))
      case (nil, let path?): return FormPart(name, .file(try NewTransfer.absolute(path)))
      default: throw NewTransfer.wrong("a part of 'form' has either a 'text' or a 'file'")
      }
    }
  }
}

extension UploadRequest {
  /// - Throws: `Problem` (422) for an address or a region that no object can have.
  fileprivate func checkObject(in region: String?) throws(Problem) {
    guard url.query == nil else {
      throw NewTransfer.wrong(
        "the 'url' of an object has no query; a signed address is for the method put")
    }
    guard region.map(S3Object.isRegion) ?? true else {
      throw NewTransfer.wrong("'region' is not the name of a region")
    }
  }
}
