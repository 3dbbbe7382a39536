import HaulCore

/// What a fault server keeps of the uploads below a path. Without faults it follows its protocol.
protocol UploadServer: Sendable {
  /// By path, as clients see them.
  var files: [String: [UInt8]] { get }
  /// Handles a request whose body has arrived.
  mutating func answer(to request: RequestRecord) -> ServiceAnswer
  /// Takes note of a request whose connection was lost in the middle of its body.
  mutating func abandoned(_ request: RequestRecord)
}

extension UploadServer {
  mutating func abandoned(_ request: RequestRecord) {}
}

struct ServiceAnswer: Sendable {
  var status: Int
  /// Each `Name: value`.
  var headers: [String] = []
  var body: [UInt8] = []
}

extension FaultScript.Resource.UploadService {
  func server(at path: String) -> any UploadServer {
    switch self {
    case .webDAV: DAVServer(root: path)
    case .resumable: ResumableServer(root: path, version: 8)
    case .resumable6: ResumableServer(root: path, version: 6)
    case .s3: S3Server()
    case .s3Unconditional: S3Server(ignoresConditions: true)
    case .tus: TusServer(root: path)
    }
  }
}
