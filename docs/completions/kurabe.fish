# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_kurabe_global_optspecs
    string join \n store= lang= color= h/help V/version
end

function __fish_kurabe_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_kurabe_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_kurabe_using_subcommand
    set -l cmd (__fish_kurabe_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c kurabe -n "__fish_kurabe_needs_command" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_needs_command" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_needs_command" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_needs_command" -s V -l version -d 'Print version'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "run" -d 'Measure this machine and keep the run'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "list" -d 'List kept runs, or tests, profiles, metrics and parameters'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "show" -d 'Show a kept run'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "compare" -d 'Compare kept runs: better, worse, same, or unclear'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "duel" -d 'Measure two set-ups of this machine in pairs of rounds and compare them'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "soak" -d 'Measure one test for hours: bursts, steps, ramps, periods, and states that alternate'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "fio" -d 'Run fio\'s job files and command lines, and keep the run'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "label" -d 'Call a kept run by a name, or by none'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "rm" -d 'Remove kept runs for good'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "export" -d 'Write a kept run to a file that `kurabe import` reads'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "import" -d 'Keep runs that another kurabe exported'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "doctor" -d 'Say what is known about this machine, and what is not'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "clean" -d 'Remove what killed runs left behind'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "licences" -d 'Print the licences of this program and of everything that is linked into it'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c kurabe -n "__fish_kurabe_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l budget -d 'Time for all of it, such as 90s or 5m' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l passes -d 'Rounds of every case' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l copies -d 'Concurrencies, such as 1,4,all; or steps: 1, 2, 4 ... all CPUs and one above' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l target -d 'Stop measuring a test when its interval is this narrow, such as 2% to each side' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l set -d 'Set a parameter of a test, or of all tests of a profile or glob' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l seed -d 'Seed of order and layout, to repeat a run in the same order' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l dir -d 'Make the work directory in here [default: the current directory]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l device -d 'Measure this device in place of a test file; tests that write need --yes-erase too' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l file -d 'Measure this existing file in place of a test file; tests that write need --overwrite-file too' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l label -d 'A name for the run' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l tag -d 'A tag for the run; may be given several times' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l yes-erase -d 'Everything on this device may be lost; where it holds something, add its serial number or UUID' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l overwrite-file -d 'Everything in this file may be lost' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l format -d 'The format' -r -f -a "text\t'A table for people'
markdown\t'A table for blogs and issues'
short\t'The first lines of it'
short-markdown\t'The first lines of it'
json\t'One document for programs'
csv\t'One line for each metric'
csv-rounds\t'One line for each value of each round'
unixbench\t'`UnixBench`\'s own report layout'"
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l resume -d 'Go on with a run that was interrupted or killed, on the same machine' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l dry-run -d 'Print the plan and its time, and measure nothing'
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l dir-of-others -d 'As root, make and write files even where other users may rename them or what they lie in'
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -s q -l quiet -d 'No progress'
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l json -d 'Short for --format json'
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -l full -d 'Show everything: further metrics, percentiles, reasons, and facts about the machine'
complete -c kurabe -n "__fish_kurabe_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand list" -l last -d 'Show so many runs, the latest first [default: 50]' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand list" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand list" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand list" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand list" -l all -d 'Show every run that is kept'
complete -c kurabe -n "__fish_kurabe_using_subcommand list" -l json -d 'Print the list as one JSON document'
complete -c kurabe -n "__fish_kurabe_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand show" -l format -d 'The format' -r -f -a "text\t'A table for people'
markdown\t'A table for blogs and issues'
short\t'The first lines of it'
short-markdown\t'The first lines of it'
json\t'One document for programs'
csv\t'One line for each metric'
csv-rounds\t'One line for each value of each round'
unixbench\t'`UnixBench`\'s own report layout'"
complete -c kurabe -n "__fish_kurabe_using_subcommand show" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand show" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand show" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand show" -l json -d 'Short for --format json'
complete -c kurabe -n "__fish_kurabe_using_subcommand show" -l full -d 'Show everything: further metrics, percentiles, reasons, and facts about the machine'
complete -c kurabe -n "__fish_kurabe_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand compare" -l margin -d 'Differences below this count as the same, such as 3% [default: by kind of metric]' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand compare" -l format -d 'The format' -r -f -a "text\t'A table for people'
markdown\t'A table for blogs and issues'
json\t'One document for programs'"
complete -c kurabe -n "__fish_kurabe_using_subcommand compare" -l fail-if -d 'End with exit code 1 where any metric is surely worse' -r -f -a "worse\t'Where a metric is worse by more than its margin'"
complete -c kurabe -n "__fish_kurabe_using_subcommand compare" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand compare" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand compare" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand compare" -l json -d 'Short for --format json'
complete -c kurabe -n "__fish_kurabe_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l a -d 'Side A: dir=DIR, device=DEVICE, file=FILE or set=TEST.PARAM=VALUE; may be given several times' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l b -d 'Side B, likewise' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l a-cmd -d 'Shell command that sets side A up before each of its rounds; tried once before the duel' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l b-cmd -d 'Shell command that sets side B up before each of its rounds; tried once before the duel' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l budget -d 'Time for all of it, such as 90s or 5m' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l copies -d 'Concurrencies, such as 1,4,all; or steps: 1, 2, 4 ... all CPUs and one above' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l set -d 'Set a parameter of a test, or of all tests of a profile or glob' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l seed -d 'Seed of order and layout, to repeat a run in the same order' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l dir -d 'Make the work directory in here [default: the current directory]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l device -d 'Measure this device in place of a test file; tests that write need --yes-erase too' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l file -d 'Measure this existing file in place of a test file; tests that write need --overwrite-file too' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l tag -d 'A tag for the run; may be given several times' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l yes-erase -d 'Everything on this device may be lost; where it holds something, add its serial number or UUID' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l overwrite-file -d 'Everything in this file may be lost' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l format -d 'The format' -r -f -a "text\t'A table for people'
markdown\t'A table for blogs and issues'
json\t'One document for programs'"
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l passes -d 'Pairs of rounds of every case [default: until the verdict is final, 28 at most]' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l label -d 'A name for the duel; its runs are called NAME-a and NAME-b' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l resume -d 'Go on with a duel that was interrupted or killed; either of its runs names it' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l dry-run -d 'Print the plan and its time, and measure nothing'
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l dir-of-others -d 'As root, make and write files even where other users may rename them or what they lie in'
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -s q -l quiet -d 'No progress'
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -l json -d 'Short for --format json'
complete -c kurabe -n "__fish_kurabe_using_subcommand duel" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l for -d 'How long, such as 10m or 24h' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l every -d 'Rest between samples that begin this far apart [default: load without a pause]' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l copies -d 'Concurrency: a number, or all' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l window -d 'Length of a window; shorter ones show shorter stalls, and suit soaks of minutes [default: 1s]' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l set -d 'Set a parameter of a test, or of all tests of a profile or glob' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l seed -d 'Seed of order and layout, to repeat a run in the same order' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l dir -d 'Make the work directory in here [default: the current directory]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l device -d 'Measure this device in place of a test file; tests that write need --yes-erase too' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l file -d 'Measure this existing file in place of a test file; tests that write need --overwrite-file too' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l label -d 'A name for the run' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l tag -d 'A tag for the run; may be given several times' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l yes-erase -d 'Everything on this device may be lost; where it holds something, add its serial number or UUID' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l overwrite-file -d 'Everything in this file may be lost' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l format -d 'The format' -r -f -a "text\t'A table for people'
markdown\t'A table for blogs and issues'
short\t'The first lines of it'
short-markdown\t'The first lines of it'
json\t'One document for programs'
csv\t'One line for each metric'
csv-rounds\t'One line for each value of each round'
unixbench\t'`UnixBench`\'s own report layout'"
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l resume -d 'Go on with a soak that was interrupted or killed, on the same machine' -r
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l dry-run -d 'Print the plan and its time, and measure nothing'
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l dir-of-others -d 'As root, make and write files even where other users may rename them or what they lie in'
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -s q -l quiet -d 'No progress'
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l json -d 'Short for --format json'
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -l full -d 'Show everything: further metrics, percentiles, reasons, and facts about the machine'
complete -c kurabe -n "__fish_kurabe_using_subcommand soak" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand fio" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand fio" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand fio" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand label" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand label" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand label" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand label" -l none -d 'Take its name away'
complete -c kurabe -n "__fish_kurabe_using_subcommand label" -l dir-of-others -d 'As root, make and write files even where other users may rename them or what they lie in'
complete -c kurabe -n "__fish_kurabe_using_subcommand label" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand rm" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand rm" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand rm" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand rm" -s y -l yes -d 'Do not ask'
complete -c kurabe -n "__fish_kurabe_using_subcommand rm" -l dir-of-others -d 'As root, make and write files even where other users may rename them or what they lie in'
complete -c kurabe -n "__fish_kurabe_using_subcommand rm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand export" -s o -l output -d 'Write to this file, which must not exist yet [default: standard output]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand export" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand export" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand export" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand export" -l dir-of-others -d 'As root, make and write files even where other users may rename them or what they lie in'
complete -c kurabe -n "__fish_kurabe_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand import" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand import" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand import" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand import" -l dir-of-others -d 'As root, make and write files even where other users may rename them or what they lie in'
complete -c kurabe -n "__fish_kurabe_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand doctor" -l dir -d 'Look at the storage behind this directory [default: the current directory]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand doctor" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand doctor" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand doctor" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand doctor" -l json -d 'Print the facts as one JSON document'
complete -c kurabe -n "__fish_kurabe_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand clean" -l dir -d 'Look in here too, beside the directories of kept runs [default: the current directory]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand clean" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand clean" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand clean" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand clean" -l dry-run -d 'Only say what would be removed'
complete -c kurabe -n "__fish_kurabe_using_subcommand clean" -l dir-of-others -d 'As root, make and write files even where other users may rename them or what they lie in'
complete -c kurabe -n "__fish_kurabe_using_subcommand clean" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand licences" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand licences" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand licences" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand licences" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand completions" -l store -d 'Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or `$XDG_DATA_HOME/kurabe/kurabe.db`]' -r -F
complete -c kurabe -n "__fish_kurabe_using_subcommand completions" -l lang -d 'Show runs and comparisons in this language; help, lists, plans, errors, and what tests, metrics and their notes say, are in English [default: from LANG]' -r -f -a "en\t'English'
ja\t'Japanese'"
complete -c kurabe -n "__fish_kurabe_using_subcommand completions" -l color -d 'Add colour to words' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set or TERM is dumb'
always\t'Always'
never\t'Never'"
complete -c kurabe -n "__fish_kurabe_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "run" -d 'Measure this machine and keep the run'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "list" -d 'List kept runs, or tests, profiles, metrics and parameters'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "show" -d 'Show a kept run'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "compare" -d 'Compare kept runs: better, worse, same, or unclear'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "duel" -d 'Measure two set-ups of this machine in pairs of rounds and compare them'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "soak" -d 'Measure one test for hours: bursts, steps, ramps, periods, and states that alternate'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "fio" -d 'Run fio\'s job files and command lines, and keep the run'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "label" -d 'Call a kept run by a name, or by none'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "rm" -d 'Remove kept runs for good'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "export" -d 'Write a kept run to a file that `kurabe import` reads'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "import" -d 'Keep runs that another kurabe exported'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "doctor" -d 'Say what is known about this machine, and what is not'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "clean" -d 'Remove what killed runs left behind'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "licences" -d 'Print the licences of this program and of everything that is linked into it'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "completions" -d 'Print a completion script for a shell'
complete -c kurabe -n "__fish_kurabe_using_subcommand help; and not __fish_seen_subcommand_from run list show compare duel soak fio label rm export import doctor clean licences completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
