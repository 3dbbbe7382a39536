import Foundation
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A protocol of uploads, and the fault server's service that speaks it.
enum UploadMethod: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case put, webDAV, resumable, tus, s3

  var testDescription: String { rawValue }

  fileprivate var service: FaultScript.Resource.UploadService {
    switch self {
    case .put, .webDAV: .webDAV
    case .resumable: .resumable
    case .tus: .tus
    case .s3: .s3
    }
  }

  /// The method of the first request that has bytes of the file.
  var sendingMethod: String {
    switch self {
    case .put, .webDAV, .s3: "PUT"
    case .resumable, .tus: "PATCH"
    }
  }

  /// Whether a cancel deletes what has arrived. Where one request has the whole file, under its own
  /// name, the upload is done.
  var canTakeBack: Bool { self != .put && self != .s3 }

  var canRequireAbsence: Bool { self == .put || self == .webDAV || self == .s3 }

  fileprivate func request(_ source: String, _ server: FaultServer) throws -> UploadRequest {
    if self == .s3 {
      let object = try S3Object(
        bucket: "up", key: "f.bin", endpoint: try ResourceURL(server.url("")))
      return UploadRequest(
        source, to: object, credentials: S3Credentials(accessKeyID: "id", secretAccessKey: "key"))
    }
    let path = self == .tus ? "/up/" : "/up/f.bin"
    var request = UploadRequest(source, to: try ResourceURL(server.url(path)))
    switch self {
    case .webDAV: request.method = .webDAV
    case .resumable: request.method = .resumable
    case .tus: request.method = .tus
    case .put, .s3: break
    }
    return request
  }
}

/// A file and a server that takes it.
struct ConformanceRun: Sendable {
  let method: UploadMethod
  let fixture: DownloadFixture

  static func with<Value>(
    _ method: UploadMethod, _ content: [UInt8], _ faults: Fault...,
    body: (ConformanceRun) async throws -> Value
  ) async throws -> Value {
    let resource = FaultScript.Resource("/up/", length: 0, faults: faults)
      .with { $0.service = method.service }
    return try await DownloadFixture.with([resource]) { fixture in
      let run = ConformanceRun(method: method, fixture: fixture)
      try Data(content).write(to: URL(filePath: run.source))
      return try await body(run)
    }
  }

  var source: String { "\(fixture.directory)/f.bin" }
  private var directory: String { "\(fixture.directory)/uploads" }

  func request() throws -> UploadRequest { try method.request(source, fixture.server) }

  /// Runs the upload to its end, or pauses it when `interruption` returns; nil then.
  func upload(
    _ change: (inout UploadRequest) -> Void = { _ in },
    interruption: (@Sendable () async throws -> Void)? = nil
  ) async throws -> DownloadFixture.Outcome? {
    var request = try request()
    change(&request)
    return try await fixture.run(
      TransferRequest(.upload(request)), configure: { $0.uploadDirectory = directory },
      interruption: interruption)
  }

  /// The whole files that the server has.
  private var stored: [[UInt8]] { Array(fixture.server.files(below: "/up/").values) }
  var count: Int { stored.count }
  func hasOnly(_ content: [UInt8]) -> Bool { stored == [content] }
  /// The methods of its requests.
  var methods: [String] { fixture.server.snapshot.requests.map(\.method) }

  /// The names of what is kept of unfinished uploads.
  var records: [String] {
    get throws {
      FileManager.default.fileExists(atPath: directory)
        ? try FileManager.default.contentsOfDirectory(atPath: directory) : []
    }
  }
}
