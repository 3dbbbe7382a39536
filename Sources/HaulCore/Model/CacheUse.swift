/// Where the bytes of a download came from, if a cache was asked.
package enum CacheUse: String, Sendable, Hashable, Codable {
  /// From the cache, without a request.
  case hit
  /// From the cache, after the server confirmed them.
  case revalidated
  /// From the server.
  case miss
  /// From the server, because the cache could not be used.
  case unavailable

  /// Whether no body came over the network.
  package var isFromCache: Bool { self == .hit || self == .revalidated }
}
