// A table of apps as a web page. Each app has an icon from a slow server; the rows are reused while
// the list scrolls. Each icon is requested once, and kept in memory and in DIRECTORY.
//
//   AppGallery [DIRECTORY] [PORT]

import Foundation
import HaulCache
import Hummingbird

let arguments = CommandLine.arguments.dropFirst()
let port = arguments.dropFirst().first.flatMap { Int($0) } ?? 8080
let address = "http://127.0.0.1:\(port)"

var configuration = ResourceCacheConfiguration()
configuration.directory = arguments.first ?? "icons"
configuration.memoryLimit = 1 << 20  // a third of the icons; the others come back from disk
var transfers = TransferManager.Configuration()
// The server is slow, not weak: many icons may be under way.
(transfers.maximumActive, transfers.maximumActivePerHost) = (100, 100)
(transfers.maximumConnections, transfers.connectionsPerHost) = (100, 100)
let icons = try ResourceCache(configuration, transfers: transfers) { try Icon($0) }
try await icons.open()  // an unusable directory is an error now, not with the first icon

let router = Router()
let server = IconServer()
server.addRoutes(to: router)
Gallery(icons: icons, server: server, address: address).addRoutes(to: router)
let gallery = Application(
  router: router, configuration: ApplicationConfiguration(address: .hostname(port: port)),
  onServerRunning: { [address] _ in
    // `print` would keep the line back while the output is no terminal.
    FileHandle.standardOutput.write(Data("the table is at \(address)\n".utf8))
  },
  logger: quiet())
try await gallery.runService()
