import HaulCore

/// What a fault server keeps of the uploads below a path. Without faults it follows its protocol.
protocol UploadServer: Sendable {
  /// By path, as clients see them.
  var files: [String: [UInt8]] { get }
  /// Handles a request whose body has arrived.
  mutating func answer(to request: RequestRecord) -> UploadAnswer
}

struct UploadAnswer: Sendable {
  var status: Int
  /// Each `Name: value`.
  var headers: [String] = []
  var body: [UInt8] = []
}

extension FaultScript.Resource.UploadService {
  func server(at path: String) -> any UploadServer {
    switch self {
    case .webDAV: DAVServer(root: path)
    }
  }
}
