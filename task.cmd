@echo off
rem Runs a task of Taskfile.yml in this project's own environment; see ./task, its twin for Unix.
setlocal
set "root=%~dp0"
set "bin=%root%.venv\Scripts"

if exist "%bin%\python.exe" "%bin%\python.exe" -I -S "%root%tools\setup_venv.py" --check 2>nul && goto run
if not defined PYTHON set "PYTHON=python"
"%PYTHON%" -c "import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 15))" >nul 2>nul || (
    echo task: no Python 3.11 to 3.14 found; install one, or set PYTHON to its path 1>&2
    exit /b 1
)
"%PYTHON%" -I "%root%tools\setup_venv.py" || exit /b 1

:run
set "PATH=%bin%;%PATH%"
"%bin%\task.exe" --dir "%root%." %*
