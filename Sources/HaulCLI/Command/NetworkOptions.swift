import ArgumentParser

/// How to talk to servers.
struct NetworkOptions: ParsableArguments {
  @OptionGroup var requests: RequestOptions
  @OptionGroup var connections: ConnectionOptions
}
