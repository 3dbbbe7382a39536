import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import NIOResumableUpload

/// A server of SwiftNIO's resumable uploads, which writes each into a directory, under the last
/// part of its address.
///
/// Usage: nio-upload DIRECTORY PORT
@main
enum NIOUpload {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, let port = Int(arguments[2]) else {
      fatalError("usage: nio-upload DIRECTORY PORT")
    }
    let directory = arguments[1]
    // Without an origin, the address of an upload is relative.
    let uploads = HTTPResumableUploadContext(origin: "")
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.configureHTTPServerPipeline()
          try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
          try pipeline.addHandler(
            HTTPResumableUploadHandler(context: uploads, handlers: [FileWriter(directory)]))
        }
      }
      .bind(host: "127.0.0.1", port: port).get()
    try await server.closeFuture.get()
  }
}

/// Receives one whole upload as one request, whatever number of requests carried it.
private final class FileWriter: ChannelInboundHandler {
  typealias InboundIn = HTTPRequestPart
  typealias OutboundOut = HTTPResponsePart

  private let directory: String
  private var file: FileHandle?

  init(_ directory: String) { self.directory = directory }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    do {
      switch unwrapInboundIn(data) {
      // A question for the file, once it is sent, is no upload.
      case .head(let request) where request.method == .head: file = nil
      case .head(let request): try create(request.path ?? "/")
      case .body(let bytes): try file?.write(contentsOf: Data(bytes.readableBytesView))
      case .end:
        try file?.close()
        answer(file == nil ? .methodNotAllowed : .created, context)
      }
    } catch {
      answer(.internalServerError, context)
    }
  }

  private func create(_ path: String) throws {
    let name = URL(filePath: path).lastPathComponent
    let url = URL(filePath: directory).appending(component: name)
    try Data().write(to: url)
    file = try FileHandle(forWritingTo: url)
  }

  private func answer(_ status: HTTPResponse.Status, _ context: ChannelHandlerContext) {
    let head = HTTPResponse(status: status, headerFields: [.contentLength: "0"])
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }
}
