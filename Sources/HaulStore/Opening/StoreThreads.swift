import Dispatch

/// Threads that may block, for opening and closing. GRDB has its own threads for the rest.
enum StoreThreads {
  static func run(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().async(execute: body)
  }
}
