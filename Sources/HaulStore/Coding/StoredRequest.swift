import HaulCore

/// A request without the parts that have their own columns (address, target, identifier, group,
/// dependencies) and without secrets.
struct StoredRequest: Codable, Hashable {
  var download: StoredDownload?
  var upload: StoredUpload?
  var step: StoredStep?
  var priority: Int?
  var isQuiet: Bool?
  var startsAt: Double?

  init(_ request: TransferRequest) {
    switch request.work {
    case .download(let download): self.download = StoredDownload(download)
    case .upload(let upload): self.upload = StoredUpload(upload)
    case .step(let step): self.step = StoredStep(step)
    }
    priority = nilIfEqual(request.priority.code, to: TransferRequest.Priority.default.code)
    isQuiet = nilIfEqual(!request.reportsProgress, to: false)
    startsAt = request.startTime
  }

  /// - Throws: `io` for missing work, or work that this version does not know.
  func request(_ address: @autoclosure () throws(TransferError) -> ResourceURL, target: String?)
    throws(TransferError) -> TransferRequest
  {
    var request: TransferRequest
    if let download {
      request = TransferRequest(.download(try download.request(try address(), target: target)))
    } else if let upload {
      request = TransferRequest(.upload(try upload.request(try address())))
    } else if let step {
      request = TransferRequest(.step(try step.request()))
    } else {
      throw .unreadable("a kind of work")
    }
    request.priority = try TransferRequest.Priority(
      code: priority ?? TransferRequest.Priority.default.code, "priority")
    request.reportsProgress = !(isQuiet ?? false)
    request.startsAt = startsAt
    return request
  }
}

/// What a step runs.
struct StoredStep: Codable, Hashable {
  var name: String?
  var input: String?
  var program: [String]?
  var directory: String?
  var isIdempotent: Bool?

  init(_ step: StepRequest) {
    switch step.action {
    case .named(let name, let input): (self.name, self.input) = (name, input)
    case .program(let arguments, let directory): (program, self.directory) = (arguments, directory)
    }
    isIdempotent = nilIfEqual(step.isIdempotent, to: false)
  }

  func request() throws(TransferError) -> StepRequest {
    var step: StepRequest
    if let name {
      step = StepRequest(.named(name, input: input))
    } else if let program {
      step = StepRequest(.program(program, directory: directory))
    } else {
      throw .unreadable("a kind of step")
    }
    step.isIdempotent = isIdempotent ?? false
    return step
  }
}
