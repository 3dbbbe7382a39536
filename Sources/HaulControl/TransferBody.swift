import HaulCore

/// The keys of a new transfer, each with a value of its type. What no table of fields has is here;
/// whether the values make sense is checked once all of them have been read.
struct TransferBody: Decodable {
  let url: String?
  /// The absolute path of the file; it excludes `directory`.
  let file: String?
  /// The absolute path of the directory of a file with a derived name.
  let directory: String?
  /// The absolute path of a file to upload.
  let put: String?
  /// The parts of a form to upload, with at least one file; it excludes `put`.
  let form: [Part]?
  /// A remote resource to upload; it excludes `put` and `form`.
  let get: Source?
  let ifExists: DownloadRequest.IfExists?
  /// The strong entity tag of the version that an upload replaces.
  let ifMatch: String?
  let headers: [Header]
  /// A program and its arguments, run without a shell in place of a download.
  let run: [String]?
  /// The absolute path of the program's working directory.
  let workingDirectory: String?
  let after: [Dependency]
  private let ofAll: [FieldChange<TransferRequest>]
  private let ofDownload: [FieldChange<DownloadRequest>]
  private let ofUpload: [FieldChange<UploadRequest>]
  private let ofStep: [FieldChange<StepRequest>]

  private static let keys = Set(
    [
      "url", "file", "directory", "put", "form", "get", "if_exists", "if_match", "headers", "run",
      "working_directory", "after",
    ] + TransferRequest.fields.json.keys() + DownloadRequest.fields.json.keys()
      + UploadRequest.fields.json.keys() + StepRequest.fields.json.keys())

  /// Unknown keys are errors.
  init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(of: Self.keys)
    (url, file) = (try object.optional("url"), try object.optional("file"))
    (directory, put) = (try object.optional("directory"), try object.optional("put"))
    (form, get) = (try object.optional("form"), try object.optional("get"))
    (ifExists, ifMatch) = (try object.optional("if_exists"), try object.optional("if_match"))
    (run, workingDirectory) = (
      try object.optional("run"), try object.optional("working_directory")
    )
    (headers, after) = (try object.optional("headers") ?? [], try object.optional("after") ?? [])
    ofAll = try TransferRequest.fields.json.changes(in: object)
    ofDownload = try DownloadRequest.fields.json.changes(in: object)
    ofUpload = try UploadRequest.fields.json.changes(in: object)
    ofStep = try StepRequest.fields.json.changes(in: object)
  }

  /// - Throws: `WrongValue`, and `Problem` for an address.
  func request() throws -> TransferRequest {
    var request = TransferRequest(try work())
    try ofAll.apply(to: &request)
    request.dependencies = try after.map { try $0.dependency }
    return request
  }

  private func work() throws -> TransferRequest.Work {
    let url = try url.map { try ResourceURL(ofBody: $0) }
    switch (url, put, form, get, run) {
    case (let url?, nil, nil, nil, nil): return .download(try download(url))
    case (let url?, let path?, nil, nil, nil):
      return .upload(try upload(UploadRequest(path.absolute, to: url)))
    case (let url?, nil, let form?, nil, nil):
      return .upload(try upload(UploadRequest(form: form.map { try $0.part }, to: url)))
    case (let url?, nil, nil, let get?, nil):
      return .upload(try upload(UploadRequest(from: get.download, to: url)))
    case (nil, nil, nil, nil, let arguments?): return .step(try step(arguments))
    case (_, _, _, _?, _): throw WrongValue("'get' needs a 'url', and no other work")
    case (_?, _?, _?, nil, nil): throw WrongValue("an upload has either a 'put' or a 'form'")
    default: throw WrongValue("a transfer has either a 'url' or a 'run'")
    }
  }

  private func step(_ arguments: [String]) throws(WrongValue) -> StepRequest {
    guard arguments.first?.isEmpty == false else { throw WrongValue("'run' names no program") }
    guard !arguments.contains(where: { $0.hasByte(0) }) else {
      throw WrongValue("an argument of 'run' must not contain a NUL")
    }
    let directory = try workingDirectory.map { path throws(WrongValue) in try path.absolute }
    var step = StepRequest(.program(arguments, directory: directory))
    try ofStep.apply(to: &step)
    return step
  }

  private func download(_ url: ResourceURL) throws -> DownloadRequest {
    let destination: DownloadRequest.Destination =
      switch (file, directory) {
      case (let path?, nil): .file(try path.absolute)
      case (nil, let path?): .directory(try path.absolute)
      default: throw WrongValue("a download has either a 'file' or a 'directory'")
      }
    var request = DownloadRequest(url: url, to: destination)
    try ofDownload.apply(to: &request)
    request.headers = try HeaderFields(ofBody: headers)
    return request
  }

  private func upload(_ source: UploadRequest) throws(WrongValue) -> UploadRequest {
    var request = source
    try ofUpload.apply(to: &request)
    let kind = request.method.uploadProtocol
    guard kind.isSigned || request.region == nil else {
      throw WrongValue("'region' is for the method s3")
    }
    guard kind.isSigned || request.keySource == nil else {
      throw WrongValue("'key_source' is for the method s3")
    }
    if kind.isSigned { try request.checkObject() }
    request.precondition = try precondition(
      isForVersions: kind.canRequireVersion, isForAbsence: kind.canRequireAbsence)
    request.ifExists = ifExists.flatMap { .init(rawValue: $0.rawValue) } ?? .overwrite
    request.headers = try HeaderFields(ofBody: headers)
    guard request.ifExists == .overwrite || !request.source.files.isEmpty && request.form.isEmpty
    else { throw WrongValue("skip and update of 'if_exists' are for a 'put'") }
    switch request.source {
    case .form where request.source.files.isEmpty: throw WrongValue("'form' has no 'file'")
    case .form where !kind.takesForms: throw WrongValue("'form' is for the methods put and post")
    case .remote where !kind.isIdempotent: throw WrongValue("'get' is not for the method post")
    default: return request
    }
  }

  private func precondition(
    isForVersions: Bool, isForAbsence: Bool
  ) throws(WrongValue) -> UploadRequest.Precondition {
    if let ifMatch, EntityTag(ifMatch)?.isWeak != false {
      throw WrongValue("'if_match' is a strong entity tag, with its quotes")
    }
    guard ifMatch == nil || isForVersions, ifExists == nil || isForAbsence else {
      throw WrongValue(
        "'if_match' is for the methods put and s3, 'if_exists' for put, s3 and webdav")
    }
    switch (ifExists, ifMatch) {
    case (nil, let tag?): return .entityTag(tag)
    case (nil, nil), (.overwrite, nil), (.skip, nil), (.update, nil): return .none
    case (.fail, nil): return .absent
    case (_, .some): throw WrongValue("'if_exists' and 'if_match' contradict each other")
    default: throw WrongValue("'if_exists' of an upload is overwrite, skip, update or fail")
    }
  }
}

extension UploadRequest {
  /// - Throws: `WrongValue` for an address or a region that no object can have.
  fileprivate func checkObject() throws(WrongValue) {
    guard url.query == nil else {
      throw WrongValue(
        "the 'url' of an object has no query; a signed address is for the method put")
    }
    guard region.map(S3Object.isRegion) ?? true else {
      throw WrongValue("'region' is not the name of a region")
    }
  }
}
