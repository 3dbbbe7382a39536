import ArgumentParser

extension OutputOptions.ProgressMode: ExpressibleByArgument {}

/// What is shown.
struct ShowOptions: ParsableArguments {
  @Flag(help: "Events as JSON, one object a line, on standard output.")
  var json = false

  @Flag(name: .shortAndLong, help: "Print only errors.")
  var quiet = false

  @Option(help: "How progress is shown on standard error.")
  var progress = OutputOptions.ProgressMode.auto

  @Flag(name: .shortAndLong, help: "Print the engine's log as well.")
  var verbose = false

  var values: OutputOptions {
    var values = OutputOptions()
    values.json = json
    values.quiet = quiet
    values.verbose = verbose
    values.progress = progress
    return values
  }
}
