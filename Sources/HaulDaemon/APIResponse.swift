import Crypto
import FoundationEssentials
import HaulControl
import HaulCore
import HTTPTypes
import Hummingbird
import Logging

/// Answers in JSON.
enum APIResponse {
  static func json(
    _ value: some Encodable, status: HTTPResponse.Status = .ok,
    type: String = "application/json"
  ) throws -> Response {
    var headers = HTTPFields()
    headers[.contentType] = type
    headers[.cacheControl] = "no-store"
    headers[.xContentTypeOptions] = "nosniff"
    return Response(
      status: status, headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: try StrictJSON.encode(value))))
  }

  /// The description of this interface.
  static var document: Response { file(PackageResources.openapi_yaml, "application/yaml") }

  /// The schema to which the description refers.
  static var schema: Response { file(PackageResources.events_json, "application/schema+json") }

  private static func file(_ bytes: [UInt8], _ type: String) -> Response {
    Response(
      status: .ok, headers: [.contentType: type],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  static func problem(_ problem: Problem) -> Response {
    let status = HTTPResponse.Status(code: problem.status, reasonPhrase: problem.title)
    // A problem has only text and numbers, which can always be encoded.
    return (try? json(problem, status: status, type: Problem.contentType))
      ?? Response(status: status)
  }
}

extension Request {
  /// Refuses a body that a web page could send without asking: a form, or plain text.
  /// - Throws: `Problem` (415).
  func requireJSON() throws(Problem) {
    let type = headers[.contentType]?.byteSplit(separator: ";").first?.lowercased()
    guard type?.trimmingBytes(" \t") == "application/json" else {
      throw Problem(415, "Unsupported Media Type", "send the body as application/json")
    }
  }

  /// - Throws: `Problem`.
  func body<Value: Decodable>(_ type: Value.Type) async throws -> Value {
    try StrictJSON.decode(type, from: try await content())
  }

  /// The body, and its digest in hexadecimal digits.
  /// - Throws: `Problem`.
  func bodyAndDigest<Value: Decodable>(
    _ type: Value.Type
  ) async throws -> (value: Value, digest: String) {
    let content = try await content()
    let digest = Checksum(.sha256, bytes: Array(SHA256.hash(data: content)))
    return (try StrictJSON.decode(type, from: content), digest?.hex ?? "")
  }

  private func content() async throws -> Data {
    try requireJSON()
    var request = self
    let buffer: ByteBuffer
    do {
      buffer = try await request.collectBody(upTo: ControlAPI.maximumBody)
    } catch {
      throw Problem(
        413, "Content Too Large", "a body may have at most \(ControlAPI.maximumBody) bytes")
    }
    return Data(buffer.readableBytesView)
  }
}

/// Describes every error as a `Problem`; what is unexpected is logged, and not shown.
struct ProblemMiddleware: RouterMiddleware {
  typealias Context = ConnectionContext

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let problem as Problem {
      return APIResponse.problem(problem)
    } catch let error as StrictJSON.Malformed {
      return APIResponse.problem(.badRequest(error.message))
    } catch let error as TransferError {
      return APIResponse.problem(Problem(error))
    } catch let error as HTTPError {
      return APIResponse.problem(
        Problem(
          error.status.code, error.status.reasonPhrase, error.body ?? error.status.reasonPhrase))
    } catch {
      context.logger.error("a call failed: \(type(of: error))")
      return APIResponse.problem(Problem(500, "Internal Server Error", "see the log of the daemon"))
    }
  }
}
